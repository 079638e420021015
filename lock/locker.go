package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// grant is the answer to one attempt to acquire.
type grant struct {
	held  bool
	token string
	fence int64
	// sent is the moment before the granting command was sent, ttl what it granted (0: nothing expires),
	// clipped whether MaxHold made it shorter.
	sent    time.Time
	ttl     time.Duration
	clipped bool
	trails  []trail // see ownership
	res     any     // what the algorithm needs again for the release
	// freeIn is, of a refusal, when the present holder's key lapses: 0 not known, negative never.
	freeIn time.Duration
}

// algorithm is all that tells one lock from another.
type algorithm interface {
	// acquire makes one attempt. key is the name in Redis, own the ownership that is entered again where the count
	// of entries is in Redis, else nil.
	acquire(ctx context.Context, key string, own *ownership) (grant, error)
	// release frees the lock and fills in r. It works although ctx has ended.
	release(ctx context.Context, r *removal) error
	// abandon is called when the lease is lost, and release is not called then. It returns at once.
	abandon(own *ownership)
}

// keeper is an algorithm that looks after its leases itself.
type keeper interface{ keep(s *Lease) }

type reentry int

const (
	reentryNone    reentry = iota
	reentryLocal           // shares are counted here
	reentryInRedis         // every entry and every release is a command
)

// locker is the machinery around an algorithm: validation, re-entry, waiting, the lease and the observer.
type locker struct {
	kind    string
	prefix  string
	o       Options
	alg     algorithm
	bg      *background
	reentry reentry
	guarded bool     // the lease's context ends at the local deadline
	renewer *renewer // nil: nothing renews
	signals *signals // nil: poll
	// deaf is how long Redis has to be silent until a waiter calls it unreachable and not busy. 0: defaultDeaf.
	deaf time.Duration
}

// Acquire implements Locker.
func (l *locker) Acquire(ctx context.Context, key string) (*Lease, error) {
	if err := l.o.check(key); err != nil {
		return nil, err
	}
	if !l.bg.enter() {
		return nil, ErrClosed
	}
	start := time.Now()
	nearest, live := liveIn(ctx, l, key)
	lease, err := l.obtain(ctx, key, nearest, live, start)
	if l.o.Observer.Acquired != nil || l.o.Observer.Waited != nil {
		l.report(key, start, lease, live, err)
	}
	return lease, err
}

// report tells the observer how an Acquire ended. live is the lease that ctx brought along.
func (l *locker) report(key string, start time.Time, lease, live *Lease, err error) {
	e := Event{Lock: l.kind, Key: key, At: time.Now(), Err: err}
	e.Wait = e.At.Sub(start)
	if lease != nil {
		e.Lease, e.Fence = lease.own.id, lease.own.fence
		if live == nil || lease.own != live.own {
			l.tell(l.o.Observer.Acquired, e)
		}
	}
	l.tell(l.o.Observer.Waited, e)
}

// obtain shares the live lease of ctx, or waits for a fresh one. The client knows of the call, which is done then.
func (l *locker) obtain(ctx context.Context, key string, nearest, live *Lease, began time.Time) (*Lease, error) {
	defer l.bg.done()
	if lease, err := l.enter(ctx, key, nearest, live); lease != nil || err != nil {
		return lease, err
	}
	return l.wait(ctx, key, nearest, began)
}

// enter shares the live lease of ctx. Neither lease nor error: there is nothing to share.
func (l *locker) enter(ctx context.Context, key string, nearest, live *Lease) (*Lease, error) {
	if live == nil || l.reentry == reentryNone {
		return nil, nil
	}
	if l.reentry == reentryInRedis {
		g, err := l.alg.acquire(ctx, l.name(key), live.own)
		if err != nil || !g.held {
			return nil, err
		}
		live.own.confirm(g.sent, g.ttl, g.clipped)
	}
	return newShare(ctx, live.own, nearest), nil
}

// wait tries until the lock is ours, the wait is spent or ctx ends. The first attempt begins now.
func (l *locker) wait(ctx context.Context, key string, nearest *Lease, began time.Time) (*Lease, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if l.o.Wait > 0 {
		bounded, cancel = context.WithTimeout(ctx, l.o.Wait)
	}
	defer cancel()
	name := l.name(key)
	turn := l.newTurn(name)
	defer turn.leave()
	var g grant
	var quiet silence
	for attempt := 0; ; attempt++ {
		if bounded.Err() != nil {
			return nil, l.busy(ctx, key, g, quiet)
		}
		var err error
		if attempt > 0 || !turn.crowded() {
			if g, err = l.alg.acquire(bounded, name, nil); g.held && err == nil {
				turn.got(g.sent.Add(g.ttl))
				return l.grantTo(ctx, key, name, g, nearest)
			}
			if quiet.note(began, err); err != nil && bounded.Err() == nil && !l.passes(err) {
				return nil, l.failed(key, err)
			}
		}
		if err != nil {
			err = turn.again(bounded)
		} else {
			err = turn.next(bounded, g.freeIn)
		}
		if err != nil {
			return nil, l.busy(ctx, key, g, quiet)
		}
		began = time.Now()
	}
}

// passes says whether an attempt's error is no reason to stop before the wait is spent: nodes of a quorum that were slow
// or away once may answer the next time, a server that is silent or not ready recovers, and a process that was stopped
// finds answers too old to use. Where nobody listens, or the connection breaks again and again, the caller is told now.
func (l *locker) passes(err error) bool {
	return errors.Is(err, errSlow) ||
		l.o.Wait != 0 && (errors.Is(err, ErrNoQuorum) || errors.Is(err, errNoAnswer) || notReady(err))
}

// silence is the run of attempts without an answer at the end of a wait.
type silence struct {
	last  error     // why the last attempt failed; nil: it did not
	since time.Time // the first of them began
	whole bool      // no attempt was ever answered
	any   bool
}

const defaultDeaf = time.Second

func (s *silence) note(began time.Time, err error) {
	switch {
	case err == nil || errors.Is(err, errSlow):
		s.since, s.whole = time.Time{}, false
	case s.since.IsZero():
		s.since, s.whole = began, !s.any
	case tells(s.last):
		return // the end of the wait that cuts the next attempt short says less
	}
	s.last, s.any = err, true
}

// unreachable says whether nobody is there who would know. One attempt that tells it proves it when nothing else is known.
func (s *silence) unreachable(deaf time.Duration) bool {
	return !s.since.IsZero() && (time.Since(s.since) >= max(deaf, defaultDeaf) || s.whole && tells(s.last))
}

// tells says whether an attempt's error is more than silence, which a busy machine also makes.
func tells(err error) bool { return errors.Is(err, ErrNoQuorum) || notReady(err) }

// grantTo makes the lease of a fresh ownership.
func (l *locker) grantTo(ctx context.Context, key, name string, g grant, nearest *Lease) (*Lease, error) {
	own := &ownership{l: l, key: key, name: name, token: g.token, id: ownerships.Add(1), fence: g.fence, at: time.Now(),
		trails: g.trails, res: g.res}
	if l.o.MaxHold > 0 {
		own.maxAt = g.sent.Add(l.o.MaxHold)
	}
	lease := own.share(ctx, &own.lease, nearest)
	if g.ttl > 0 {
		own.confirm(g.sent, g.ttl, g.clipped)
	}
	if l.renewer != nil {
		l.renewer.add(own, g)
	}
	if k, ok := l.alg.(keeper); ok {
		k.keep(lease)
	}
	if !l.bg.add(own) {
		return nil, errors.Join(ErrClosed, lease.Release(ctx))
	}
	return lease, nil
}

// forget takes an ended ownership off every list.
func (l *locker) forget(o *ownership) {
	l.bg.remove(o)
	if l.renewer != nil {
		l.renewer.remove(o)
	}
}

// failed is the error of an attempt that got no usable answer.
func (l *locker) failed(key string, err error) error {
	if l.bg.open.Err() != nil {
		return ErrClosed
	}
	return fmt.Errorf("lock: acquire %q: %w", key, err)
}

// busy is the error of a wait that was spent.
func (l *locker) busy(ctx context.Context, key string, g grant, quiet silence) error {
	if l.bg.open.Err() != nil {
		return ErrClosed
	}
	if quiet.unreachable(l.deaf) {
		return errors.Join(l.failed(key, fmt.Errorf("%w: %w", errNoAnswer, quiet.last)), ctx.Err())
	}
	err := fmt.Errorf("%w: %q", ErrBusy, key)
	if g.freeIn < 0 {
		err = fmt.Errorf("%w: its key %s has no TTL, so it will not lapse by itself", err, l.name(key))
	}
	if ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if quiet.last != nil {
		return errors.Join(err, errNoAnswer, quiet.last)
	}
	return err
}

func (l *locker) tell(f func(Event), e Event) {
	if f != nil {
		f(e)
	}
}
