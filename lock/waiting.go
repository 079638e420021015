package lock

import (
	"context"
	"math/rand/v2"
	"time"
)

// turn is how one Acquire waits between its attempts.
type turn interface {
	// crowded says that others of this process wait already, so that a first attempt would only jump the queue.
	crowded() bool
	// next returns nil when another attempt is worth a command. freeIn is what the last refusal said.
	next(ctx context.Context, freeIn time.Duration) error
	// again returns nil when another attempt is worth a command after one that found nothing out.
	again(ctx context.Context) error
	// got says that the lock was acquired, and when its key lapses if nobody renews it.
	got(lapses time.Time)
	// leave ends the waiting; it is called once, in any case.
	leave()
}

func (l *locker) newTurn(name string) turn {
	switch {
	case l.o.Wait == 0:
		return single{}
	case l.signals == nil:
		return &polling{closed: l.bg.open.Done()}
	}
	return l.signals.newTurn(name)
}

// single is the turn of an Acquire that makes one attempt and does not wait.
type single struct{}

func (single) crowded() bool                             { return false }
func (single) got(time.Time)                             {}
func (single) leave()                                    {}
func (single) next(context.Context, time.Duration) error { return ErrBusy }
func (single) again(context.Context) error               { return ErrBusy }

// polling asks again after a pause that is random, so that waiters do not march in step, and that grows, so that many
// of them do not drown the server.
type polling struct {
	closed <-chan struct{}
	pauses int
}

const (
	pollMin  = 2 * time.Millisecond
	pollMax  = 20 * time.Millisecond // of the first pauses
	pollCeil = 50 * time.Millisecond
)

func (*polling) crowded() bool { return false }
func (*polling) got(time.Time) {}
func (*polling) leave()        {}

func (p *polling) next(ctx context.Context, _ time.Duration) error {
	return pause(ctx, p.closed, p.pause())
}

func (p *polling) again(ctx context.Context) error { return p.next(ctx, 0) }

func (p *polling) pause() time.Duration {
	ceil := min(pollMax+time.Duration(p.pauses)*pollMin, pollCeil)
	p.pauses++
	return pollMin + rand.N(ceil-pollMin)
}

// pause waits for d, unless ctx ends or the client is closed before.
func pause(ctx context.Context, closed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
