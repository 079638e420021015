package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"seckill/lock"
	"seckill/lock/locktest"
)

// openRedsync makes redsync over as many nodes as the resources have. It has no renewal of its own, no re-entry and no
// fence; what its user must do for those is not added here.
func openRedsync(nodes int) locktest.Open {
	return func(r lock.Resources, o lock.Options) (locktest.Locker, error) {
		var pools []redis.Pool
		for _, n := range r.Nodes[:nodes] {
			pools = append(pools, goredis.NewPool(n.(*goredislib.Client)))
		}
		return &peer{redsync.New(pools...), o}, nil
	}
}

type peer struct {
	rs *redsync.Redsync
	o  lock.Options
}

// Acquire translates Options.Wait into redsync's tries, and its errors into ours.
func (p *peer) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	tries := 1
	if p.o.Wait != 0 {
		tries = 1 << 20
	}
	if p.o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.o.Wait)
		defer cancel()
	}
	m := p.rs.NewMutex(p.o.Prefix+key, redsync.WithExpiry(p.o.TTL), redsync.WithTries(tries),
		redsync.WithRetryDelay(20*time.Millisecond))
	err := m.LockContext(ctx)
	var taken *redsync.ErrTaken
	switch {
	case err == nil:
		return &peerLease{m}, nil
	case errors.As(err, &taken), errors.Is(err, redsync.ErrFailed), ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", lock.ErrBusy, errors.Join(err, ctx.Err()))
	}
	return nil, err
}

func (p *peer) Close(context.Context) error { return nil }

type peerLease struct{ m *redsync.Mutex }

// Context never ends: redsync tells nobody of a loss.
func (l *peerLease) Context() context.Context { return context.Background() }
func (l *peerLease) Fence() int64             { return 0 }
func (l *peerLease) Remaining() time.Duration { return max(0, time.Until(l.m.Until())) }

func (l *peerLease) Check() error {
	if l.Remaining() == 0 {
		return lock.ErrLost
	}
	return nil
}

func (l *peerLease) Release(ctx context.Context) error {
	ok, err := l.m.UnlockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) || err == nil && !ok {
		return fmt.Errorf("%w: %w", lock.ErrLost, errors.Join(err))
	}
	return err
}
