package service

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Values of Parts.Path besides PathSync: the order is admitted by Redis before the database hears of it.
const (
	PathGate   = "gate"   // admission, then the transaction inside the request; a failure gives the unit back
	PathStream = "stream" // admission and queueing in one script; workers write
)

// Hold points of the gate and stream paths, between every two of their steps.
const (
	HoldGateAdmitted   = "gate-admitted"   // the gate took a unit; nothing is in the database
	HoldGateWritten    = "gate-written"    // the order stands in the database; the gate does not know
	HoldGateDone       = "gate-done"       // the gate knows; the client does not
	HoldGateReturned   = "gate-returned"   // the database refused and the gate has the unit back
	HoldStreamAdmitted = "stream-admitted" // the order is queued; the client does not know
)

// settleWithin bounds what is done for an order after its client stopped mattering.
const settleWithin = 10 * time.Second

// preheats bounds how often one request preheats: a gate may be flushed between two of its steps, but not for ever.
const preheats = 3

// Intake is the admission in front of the database: the gate and stream paths. Its fields are set before the first
// order; it is safe for concurrent use.
type Intake struct {
	Groups    *Groups
	Preheater *Preheater
	SoldOut   *SoldOut
	Returns   *Returns
}

// placeAdmitted places an order on the gate or stream path. The sale window is judged by Redis's clock inside the
// script, one clock for all processes; this process's clock takes no part.
func (p *Placer) placeAdmitted(ctx context.Context, stage Stage, voucher ID, user int64, id ID) (Order, error) {
	v, err := p.vouchers.get(ctx, p.Store, voucher, p.now())
	if err != nil {
		return Order{}, err
	}
	if err := p.Intake.SoldOut.Answer(voucher, user); err != nil {
		return Order{}, err
	}
	if id, err = p.mint(ctx, id); err != nil {
		return Order{}, err
	}
	b := p.newBuy(stage, v, user, id)
	if err := p.Intake.admit(ctx, stage.Path == PathStream, b.order); err != nil {
		return Order{}, err
	}
	if stage.Path == PathStream {
		return b.queued(ctx)
	}
	return b.throughGate(ctx)
}

// admit takes a unit for the order, or says why there is none for it.
func (in *Intake) admit(ctx context.Context, enqueue bool, o Order) error {
	for range preheats {
		mark := in.SoldOut.mark()
		a, err := in.Groups.Admit(ctx, o.VoucherID, enqueue, Ask{Order: o.ID, User: o.UserID})
		switch {
		case err != nil:
			return err
		case errors.Is(a.Err, ErrNotPreheated):
			if _, err := in.Preheater.Preheat(ctx, o.VoucherID); err != nil {
				return err
			}
			continue
		case errors.Is(a.Err, ErrSoldOut):
			in.SoldOut.remember(ctx, o.VoucherID, mark)
		}
		return a.Err
	}
	return fmt.Errorf("%w: %w", ErrBusy, ErrNotPreheated)
}

// queued ends an order of the stream path: it is in the stream, and a worker writes it. A client that left while it
// was being admitted never learned of its order, so the order is cancelled.
func (b *buy) queued(ctx context.Context) (Order, error) {
	b.Holds.Reach(HoldStreamAdmitted)
	b.Holds.Reach(HoldCritical)
	if ctx.Err() != nil {
		return Order{}, b.withdraw(ctx)
	}
	b.order.Status = Pending
	return b.order, nil
}

// withdraw cancels an order that may be in a worker's hands already: the tombstone in the database decides. When the
// worker was first, the order stands.
func (b *buy) withdraw(ctx context.Context) error {
	left := errors.Join(ErrBusy, ctx.Err())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	_, _, err := b.Intake.Returns.End(ctx, b.unit(), Cancelled, "the client left before the answer")
	return errors.Join(left, err)
}

// throughGate writes an admitted order in the request's own transaction. From here on the client's leaving stops
// nothing: only a client that left before the write gives its unit back.
func (b *buy) throughGate(ctx context.Context) (Order, error) {
	b.Holds.Reach(HoldGateAdmitted)
	left := ctx.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.Work+settleWithin)
	defer cancel()
	if left != nil { // nobody else writes this order, so no row has to decide
		return Order{}, errors.Join(ErrBusy, left, b.giveBack(ctx, false))
	}
	err := b.work(ctx)
	if err == nil {
		err = b.commit(ctx, nil, func(tx Tx) error { return b.takeConditionally(ctx, tx, 0) })
	}
	if err != nil {
		return b.refused(ctx, err)
	}
	b.Holds.Reach(HoldGateWritten)
	// When this fails the order stands all the same; the reconcile job settles it.
	_ = b.Intake.Returns.Gate.Done(ctx, []Unit{b.unit()})
	b.Holds.Reach(HoldGateDone)
	return b.order, nil
}

// refused ends an order of the gate path that the database did not take. The unit goes back once, and only when it is
// certain that the row is not there and will not come: a lost answer to COMMIT looks like any other failure.
func (b *buy) refused(ctx context.Context, cause error) (Order, error) {
	defer b.Holds.Reach(HoldGateReturned)
	if errors.Is(cause, ErrSoldOut) { // rolled back for certain; the gate knew of more than the database has
		return Order{}, errors.Join(cause, b.giveBack(ctx, true))
	}
	row, ended, err := b.Intake.Returns.End(ctx, b.unit(), Failed, "the database refused the order")
	switch {
	case err != nil: // the reconcile job ends it once the database answers again
		return Order{}, errors.Join(cause, err)
	case ended:
		return Order{}, cause
	case row.Status == Created || row.Status == Paid:
		return row, nil // the COMMIT had succeeded
	}
	return Order{}, errors.Join(ErrBusy, errOvertaken)
}

// errOvertaken: this process was so slow that the reconcile job ended its order.
var errOvertaken = errors.New("the order was given up before it was written")

// giveBack returns the unit of an order that has no row.
func (b *buy) giveBack(ctx context.Context, noRestock bool) error {
	_, err := b.Intake.Returns.Gate.Return(ctx, []Back{{Unit: b.unit(), NoRestock: noRestock}})
	return err
}

func (b *buy) unit() Unit {
	return Unit{Order: b.order.ID, Voucher: b.order.VoucherID, User: b.order.UserID}
}
