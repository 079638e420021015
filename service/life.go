package service

import (
	"context"
	"errors"
	"time"

	"seckill/lock"
)

// Hold points of an order's end, between every two of its steps.
const (
	HoldCancelCommitted = "cancel-committed" // the database says that the order ended; the gate still counts its unit
	HoldCancelReturned  = "cancel-returned"  // the gate has the unit back; the database still lists it as due
)

// Reasons of cancelled orders.
const (
	reasonUser   = "cancelled by the user"
	reasonUnpaid = "not paid in time"
)

// Life is what happens to an order after its placing. Its fields are set before the first call; it is safe for
// concurrent use.
type Life struct {
	Store   LifeStore
	Gate    GateKeeper // nil: no order is ever in flight
	Returns *Returns
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Pay moves a created order to paid. Only its owner may (ErrForbidden); an order in any other state, cancelled ones
// and those not yet written included, is ErrInvalidState. Of a payment and a cancellation at the same time one wins:
// each is one update that names the state it starts from.
func (l *Life) Pay(ctx context.Context, id ID, user int64) (Order, error) {
	return l.written(ctx, id, user, func() (Order, error) {
		return l.Store.MoveOrder(ctx, Move{Order: id, User: user, From: Created, To: Paid, At: l.now()})
	}, func(Unit) (Order, bool, error) {
		return Order{}, true, ErrInvalidState // accepted, but there is no row to pay yet
	})
}

// Cancel ends a created or pending order of the user. The unit goes back once in both stores, and the user may order
// again. The answers are those of Pay.
func (l *Life) Cancel(ctx context.Context, id ID, user int64) (Order, error) {
	return l.written(ctx, id, user, func() (Order, error) {
		return l.cancelWritten(ctx, id, user, reasonUser)
	}, func(u Unit) (Order, bool, error) {
		// The worker and this call both want to insert the order's row; whoever is second follows the first.
		row, ended, err := l.Returns.End(ctx, u, Cancelled, reasonUser)
		return row, ended || err != nil, err
	})
}

// written moves an order that has a row. When it has none it may be in flight, and pending deals with it, unless that
// finds a row by now. An order that is neither may have been written between the two looks, so the first is repeated.
func (l *Life) written(ctx context.Context, id ID, user int64, move func() (Order, error), pending func(Unit) (Order, bool, error)) (Order, error) {
	o, err := move()
	if !errors.Is(err, ErrNotFound) {
		return o, err
	}
	f, err := l.inFlight(ctx, id, user)
	switch {
	case errors.Is(err, ErrNotFound):
		return move()
	case err != nil:
		return Order{}, err
	}
	if o, done, err := pending(f.Unit); done {
		return o, err
	}
	return move()
}

// cancelWritten cancels a created order. user 0: whoever's it is.
func (l *Life) cancelWritten(ctx context.Context, id ID, user int64, reason string) (Order, error) {
	o, err := l.Store.MoveOrder(ctx, Move{
		Order: id, User: user, From: Created, To: Cancelled, GiveBack: true, Reason: reason, At: l.now(),
	})
	if err != nil {
		return o, err
	}
	l.Returns.Holds.Reach(HoldCancelCommitted)
	// The order is cancelled whatever happens now: what fails here, the sweep of due returns finishes.
	_ = l.Returns.Back(ctx, Back{Unit: Unit{Order: id, Voucher: o.VoucherID, User: o.UserID}})
	return o, nil
}

// inFlight finds the user's order among those that have no row yet; ErrNotFound when it is not there.
func (l *Life) inFlight(ctx context.Context, id ID, user int64) (InFlight, error) {
	if l.Gate == nil {
		return InFlight{}, ErrNotFound
	}
	f, ok, err := l.Gate.FindInFlight(ctx, id)
	switch {
	case err != nil:
		return InFlight{}, err
	case !ok:
		return InFlight{}, ErrNotFound
	case f.User != user:
		return InFlight{}, ErrForbidden
	}
	return f, nil
}

// CancelUnpaid cancels created orders from before the time given, at most limit of them, and tells how many.
func (l *Life) CancelUnpaid(ctx context.Context, before time.Time, limit int) (int, error) {
	unpaid, err := l.Store.UnpaidOrders(ctx, before, limit)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, o := range unpaid {
		switch _, err := l.cancelWritten(ctx, o.ID, 0, reasonUnpaid); {
		case err == nil:
			n++
		case !errors.Is(err, ErrInvalidState) && !errors.Is(err, ErrNotFound): // those were paid or cancelled meanwhile
			return n, err
		}
	}
	return n, nil
}

func (l *Life) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// Returns ends orders that hold a unit of the gate, and gives the unit back exactly once. Its fields are set before
// the first call; it is safe for concurrent use.
type Returns struct {
	Store LifeStore
	Gate  Admitter
	Holds *lock.Holds
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// End ends an order in flight with a row that says so, cancelled or failed, and gives its unit back. ended is false
// when a row was there first: that row, which is returned, decides, and whoever wrote it gives the unit back if it has
// to. An error may leave the order in flight; calling End again is safe.
func (r *Returns) End(ctx context.Context, u Unit, status Status, reason string) (row Order, ended bool, err error) {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	row, ended, err = r.Store.Tombstone(ctx, u, status, reason, now())
	if err != nil || !ended {
		return row, false, err
	}
	r.Holds.Reach(HoldCancelCommitted)
	_ = r.Back(ctx, Back{Unit: u}) // the sweep of due returns finishes what fails
	return row, true, nil
}

// Back gives the units of ended orders back to the gate and then forgets that they were due. Done again after a
// failure or a crash between the two, it changes nothing.
func (r *Returns) Back(ctx context.Context, backs ...Back) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if _, err := r.Gate.Return(ctx, backs); err != nil {
		return err
	}
	r.Holds.Reach(HoldCancelReturned)
	ids := make([]ID, len(backs))
	for i, b := range backs {
		ids[i] = b.Order
	}
	return r.Store.ClearReturns(ctx, ids)
}

// BackDue gives units back whose orders ended before the time given and tells how many.
func (r *Returns) BackDue(ctx context.Context, before time.Time, limit int) (int, error) {
	due, err := r.Store.DueReturns(ctx, before, limit)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	backs := make([]Back, len(due))
	for i, d := range due {
		backs[i] = d.Back
	}
	return len(due), r.Back(ctx, backs...)
}
