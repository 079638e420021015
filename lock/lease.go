package lock

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Lease is one share of a lock's ownership. Its methods are safe for concurrent use.
type Lease struct {
	own    *ownership
	parent *Lease    // the lease of the same locker and key in Acquire's ctx, live or not
	values valuesAnd // what ctx is made of
	ctx    context.Context
	cancel context.CancelCauseFunc

	given atomic.Bool // Release was called
	once  sync.Once
	err   error
}

// Context carries the values of Acquire's ctx, not its cancellation, and ends with a cause when the lease ends:
// ErrReleased, ErrExpired, ErrMaxHold, ErrClosed, or an ErrLost when Redis said that the lock is not ours.
// Whoever gets it shares the ownership where the lock has re-entry.
func (s *Lease) Context() context.Context { return s.ctx }

// Fence is the fencing token: it grows with every fresh ownership of the key; 0 where the lock has none.
func (s *Lease) Fence() int64 { return s.own.fence }

// Remaining is how long the lease is certain to last without a renewal, 0 when it has ended;
// math.MaxInt64 where nothing expires.
func (s *Lease) Remaining() time.Duration {
	if s.Check() != nil {
		return 0
	}
	return s.own.remaining(time.Now())
}

// Check is nil while the lease is certain to be ours, else an ErrLost or ErrReleased. It asks no server: it compares
// the monotonic clock with the last confirmed deadline, so it also tells a process that was stopped meanwhile.
func (s *Lease) Check() error {
	if s.given.Load() {
		return ErrReleased
	}
	return s.own.check()
}

// Release gives this share back; the last share frees the lock. It works on a cancelled context, and a second call
// returns the first one's result. ErrLost when the lock was not ours any more; another error when nobody answered by
// the local deadline, and then the key is removed behind as soon as somebody does.
func (s *Lease) Release(ctx context.Context) error {
	s.once.Do(func() { s.err = s.own.release(ctx, s) })
	return s.err
}

// ownership is what all shares of one acquired lock have in common. It is the only place where a lease ends.
type ownership struct {
	l     *locker
	key   string // the caller's
	name  string // in Redis
	token string
	id    uint64
	fence int64
	at    time.Time // the acquire was confirmed
	maxAt time.Time // MaxHold is over; zero: never
	res   any       // the algorithm's
	// trails are what the acquire has sent to each server, of a lock in a store.
	trails []trail

	mu       sync.Mutex
	shares   []*Lease
	first    [1]*Lease // room for the most common number of them
	lease    Lease     // the share that the acquire made
	deadline time.Time // zero: nothing expires
	clipped  bool      // MaxHold comes before another renewal
	ended    error     // the cause, nil while live
}

var ownerships atomic.Uint64

// confirm notes that Redis granted ttl to a command sent at sent. The clock starts before the send, because the
// key's clock in Redis started later; drift allows for the two clocks' different speeds. It does not bring a lease back
// whose deadline has passed: Check may have told.
func (o *ownership) confirm(sent time.Time, ttl time.Duration, clipped bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	until := sent.Add(ttl - drift(ttl))
	if o.ended != nil || o.l.guarded && o.passed() {
		return
	}
	o.clipped = o.clipped || clipped
	if until.After(o.deadline) {
		o.deadline = until
	}
}

// guardedUntil is when the ownership ends if nothing is confirmed; zero: it does not end by itself, or has ended.
func (o *ownership) guardedUntil() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.guardedUntilLocked()
}

func (o *ownership) guardedUntilLocked() time.Time {
	if !o.l.guarded || o.ended != nil {
		return time.Time{}
	}
	return o.deadline
}

// endIfOverdue ends the ownership when its deadline has passed, and is guardedUntil else.
func (o *ownership) endIfOverdue() time.Time {
	o.mu.Lock()
	if until := o.guardedUntilLocked(); until.IsZero() || time.Now().Before(until) {
		o.mu.Unlock()
		return until
	}
	o.endLocked(o.lapse()) // without letting go in between, or a renewal's answer could still move the deadline
	return time.Time{}
}

// passed says whether the deadline has; the caller holds o.mu.
func (o *ownership) passed() bool { return !o.deadline.IsZero() && !time.Now().Before(o.deadline) }

// lapse is the error of a deadline that has passed.
func (o *ownership) lapse() error {
	if o.clipped {
		return ErrMaxHold
	}
	return ErrExpired
}

// end makes all shares end with cause; only the first cause counts.
func (o *ownership) end(cause error) {
	o.mu.Lock()
	o.endLocked(cause)
}

// endLocked is end for a caller that holds o.mu; it unlocks.
func (o *ownership) endLocked(cause error) {
	if o.ended != nil {
		o.mu.Unlock()
		return
	}
	o.ended = cause
	shares := o.shares
	o.mu.Unlock()
	for _, s := range shares {
		s.cancel(cause)
	}
	o.l.forget(o)
	o.l.tell(o.l.o.Observer.Lost, o.event(time.Now(), cause))
	if cause != ErrClosed {
		o.l.alg.abandon(o)
	}
}

func (o *ownership) join(s *Lease) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != nil {
		return false
	}
	if o.shares == nil {
		o.shares = o.first[:0]
	}
	o.shares = append(o.shares, s)
	return true
}

// leave takes s out and reports whether it was the last, and the cause with which the ownership had ended. Of a deadline
// that has just passed only who asks nobody is told: the last share's release learns from Redis whether it mattered.
func (o *ownership) leave(s *Lease) (last bool, ended error) {
	o.mu.Lock()
	for i := range o.shares {
		if o.shares[i] == s {
			o.shares = append(o.shares[:i:i], o.shares[i+1:]...)
			break
		}
	}
	last, ended = len(o.shares) == 0, o.ended
	switch {
	case ended != nil:
	case last:
		o.ended = ErrReleased
	case o.l.reentry == reentryLocal && o.passed():
		ended = o.lapse()
	}
	o.mu.Unlock()
	s.given.Store(true)
	s.cancel(ErrReleased)
	return last, ended
}

func (o *ownership) check() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended == ErrClosed:
		return fmt.Errorf("%w: %w", ErrLost, ErrClosed)
	case o.ended != nil:
		return o.ended
	case o.passed():
		return o.lapse()
	}
	return nil
}

func (o *ownership) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended != nil
}

// certain says whether the lock is certain to be ours at now: the lease may have been ended by Close alone.
func (o *ownership) certain(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return (o.ended == nil || o.ended == ErrClosed) && (o.deadline.IsZero() || now.Before(o.deadline))
}

func (o *ownership) remaining(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.deadline.IsZero() {
		return math.MaxInt64
	}
	return max(0, o.deadline.Sub(now))
}

// left is the time until the deadline, 0 without one.
func (o *ownership) left(now time.Time) time.Duration {
	if d := o.remaining(now); d != math.MaxInt64 {
		return d
	}
	return 0
}

func (o *ownership) event(at time.Time, err error) Event {
	return Event{Lock: o.l.kind, Key: o.key, Lease: o.id, Fence: o.fence, At: at, Err: err}
}

// drift is what the local deadline is shorter than the TTL: 1 % for clocks of different speed, 2 ms for their steps.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }
