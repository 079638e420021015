package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// removal is one release on its way to Redis or to wherever the lock lives.
type removal struct {
	own     *ownership
	key     string    // name of the lock in Redis
	called  time.Time // when Release was called
	valid   bool      // the lock was certain to be ours then
	at      time.Time // before the command that may have removed the key
	removed bool
}

// sending notes the moment before the command that removes the key; only the first counts.
func (r *removal) sending() {
	if r.at.IsZero() {
		r.at = time.Now()
	}
}

// reply turns the number of removed keys into Release's result.
func (r *removal) reply(n int64, err error) error {
	if err != nil {
		return err
	}
	if r.removed = n > 0; !r.removed {
		return ErrLost
	}
	return nil
}

// release takes s out of the ownership and frees the lock when it was the last share.
func (o *ownership) release(ctx context.Context, s *Lease) error {
	l := o.l
	now := time.Now()
	r := &removal{own: o, key: o.name, called: now, valid: o.certain(now)}
	last, err := o.giveBack(ctx, s, r)
	if last && l.o.Observer.Released != nil {
		e := o.event(time.Now(), err)
		e.Held, e.CalledAt, e.RemoveAt, e.Removed = r.called.Sub(o.at), r.called, r.at, r.removed
		l.tell(l.o.Observer.Released, e)
	}
	return err
}

// giveBack is release without the observer. The client knows of the call, which is done then.
func (o *ownership) giveBack(ctx context.Context, s *Lease, r *removal) (last bool, err error) {
	l := o.l
	l.bg.hold()
	defer l.bg.done()
	if l.o.Holds != nil && o.sends() {
		l.o.Holds.Reach(HoldRelease)
	}
	last, ended := o.leave(s)
	if last {
		l.forget(o)
	}
	switch {
	case ended != nil && ended != ErrClosed:
		err = lostBy(ended)
	case last || l.reentry == reentryInRedis:
		err = l.alg.release(ctx, r)
	}
	return last, err
}

// sends says whether the next release sends a command: where the count is local, only the last does.
func (o *ownership) sends() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.shares) <= 1 || o.l.reentry == reentryInRedis
}

// lostBy makes every cause an ErrLost.
func lostBy(cause error) error {
	if errors.Is(cause, ErrLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}
