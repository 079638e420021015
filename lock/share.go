package lock

import "context"

// leaseKey is under what a lease is found again in a context: re-entry is by locker and key.
type leaseKey struct {
	l   *locker
	key string
}

// newShare adds a share to own, or returns nil when own has ended.
func newShare(ctx context.Context, own *ownership, parent *Lease) *Lease {
	return own.share(ctx, new(Lease), parent)
}

// share makes s a share of own.
func (own *ownership) share(ctx context.Context, s *Lease, parent *Lease) *Lease {
	s.own, s.parent = own, parent
	s.values = valuesAnd{context.Background(), ctx, s}
	s.ctx, s.cancel = context.WithCancelCause(&s.values)
	if !own.join(s) {
		s.cancel(ErrReleased)
		return nil
	}
	return s
}

// valuesAnd has the values of a context, not its end, and a lease in addition.
type valuesAnd struct {
	context.Context
	values context.Context
	lease  *Lease
}

func (c *valuesAnd) Value(key any) any {
	if k, ok := key.(leaseKey); ok && k.l == c.lease.own.l && k.key == c.lease.own.key {
		return c.lease
	}
	return c.values.Value(key)
}

// liveIn finds the nearest lease of l and key in ctx that is still ours.
func liveIn(ctx context.Context, l *locker, key string) (nearest, live *Lease) {
	nearest, _ = ctx.Value(leaseKey{l, key}).(*Lease)
	for s := nearest; s != nil; s = s.parent {
		if s.Check() == nil {
			return nearest, s
		}
	}
	return nearest, nil
}
