package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"seckill/lock"
)

// Hold points of the order flow; those of the locks are named in package lock.
const (
	// HoldCritical lies after the reads and the work and before the first write.
	HoldCritical = "critical"
	// HoldCommit lies inside the write transaction, after the last check of the lease and before COMMIT.
	HoldCommit = "commit"
)

// HoldPoints lists the hold points of this package, in the order in which an order comes to them: the flow, the gate and
// stream paths, the worker, and the end of an order.
func HoldPoints() []string {
	return []string{
		HoldCritical, HoldCommit,
		HoldGateAdmitted, HoldGateWritten, HoldGateDone, HoldGateReturned, HoldStreamAdmitted,
		HoldWorkerRead, HoldWorkerCommitted, HoldWorkerReturned, HoldWorkerAcked, HoldWorkerBuried,
		HoldCancelCommitted, HoldCancelReturned,
	}
}

// Placer places orders. Its exported fields are set before the first Place; it is safe for concurrent use.
type Placer struct {
	Store Store
	IDs   IDSource
	// Locker gives the locker of a stage. It is called for every order, so it answers from what it has opened before.
	Locker func(Stage) (lock.Locker, error)
	// Now is the clock that the sale window is judged by. Default time.Now.
	Now func() time.Time
	// Work is how long every order computes between its reads and its writes. Default 0.
	Work time.Duration
	// Nested takes the lock around the order check as well and saves inside of it: a method that calls a method.
	Nested bool
	// Holds are the hold points of a lab run or a test. Default nil: off.
	Holds *lock.Holds
	// Intake is the admission of the gate and stream paths. Nil: there is only the sync path.
	Intake *Intake

	vouchers voucherCache
}

// buy is one attempt to place one order.
type buy struct {
	*Placer
	stage  Stage
	locker lock.Locker
	key    string
	order  Order
}

// Place buys one unit of the voucher for the user in the way of the stage. The rules are the same in every stage:
// ErrNotFound, ErrNotStarted and ErrEnded before anything is counted, then ErrAlreadyOrdered, then ErrSoldOut.
// ErrBusy, ErrOrderInProgress, ErrGaveUp and ErrLockLost say that nothing was written and that the user may try again;
// any other error is a failure of the database or of Redis.
//
// ctx bounds the waiting. An order that has its lock is carried through even when the client has gone.
func (p *Placer) Place(ctx context.Context, stage Stage, voucher ID, user int64) (Order, error) {
	return p.PlaceAs(ctx, stage, voucher, user, 0)
}

// PlaceAs is Place for an order whose id was minted before (0: it is minted now). Placing under one id again never
// makes a second order.
func (p *Placer) PlaceAs(ctx context.Context, stage Stage, voucher ID, user int64, id ID) (Order, error) {
	if stage.Path != PathSync {
		if p.Intake == nil {
			return Order{}, invalid("the path %s needs an admission, and this server has none", stage.Path)
		}
		return p.placeAdmitted(ctx, stage, voucher, user, id)
	}
	b, err := p.begin(ctx, stage, voucher, user, id)
	if err != nil {
		return Order{}, err
	}
	span := b.around
	switch {
	case p.Nested:
		span = b.nested
	case stage.LockSpan == SpanEarly:
		span = b.early
	case stage.LockSpan == SpanLate:
		span = b.late
	}
	if err := b.optimistically(ctx, span); err != nil {
		return Order{}, b.answer(ctx, err)
	}
	return b.order, nil
}

// begin applies the rules that need no lock and prepares the order.
func (p *Placer) begin(ctx context.Context, stage Stage, voucher ID, user int64, id ID) (*buy, error) {
	v, err := p.onSale(ctx, voucher)
	if err != nil {
		return nil, err
	}
	locker, err := p.Locker(stage)
	if err != nil {
		return nil, err
	}
	if id, err = p.mint(ctx, id); err != nil {
		return nil, err
	}
	b := p.newBuy(stage, v, user, id)
	b.locker, b.key = locker, LockKey(stage.LockKey, voucher, user, id)
	return b, nil
}

// mint is the id, or a new one when it is 0.
func (p *Placer) mint(ctx context.Context, id ID) (ID, error) {
	if id != 0 {
		return id, nil
	}
	return p.IDs.NextID(ctx)
}

// newBuy prepares the order, with no lock yet.
func (p *Placer) newBuy(stage Stage, v Voucher, user int64, id ID) *buy {
	now := p.now().UTC().Truncate(time.Microsecond)
	return &buy{Placer: p, stage: stage, order: Order{
		ID: id, VoucherID: v.ID, UserID: user, Status: Created, PriceCents: v.PriceCents, CreatedAt: now, UpdatedAt: now,
	}}
}

// LockKey is the key that an order locks: of the voucher, of the voucher's user, or of this one request.
func LockKey(kind string, voucher ID, user int64, request ID) string {
	key := "voucher:" + voucher.String()
	switch kind {
	case KeyUser:
		key += ":user:" + strconv.FormatInt(user, 10)
	case KeyPerRequest:
		key += ":request:" + request.String()
	}
	return key
}

// onSale is the voucher when its window [BeginAt, EndAt) is open.
func (p *Placer) onSale(ctx context.Context, id ID) (Voucher, error) {
	v, err := p.vouchers.get(ctx, p.Store, id, p.now())
	switch now := p.now(); {
	case err != nil:
		return Voucher{}, err
	case now.Before(v.BeginAt):
		return Voucher{}, ErrNotStarted
	case !now.Before(v.EndAt):
		return Voucher{}, ErrEnded
	}
	return v, nil
}

func (p *Placer) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// answer turns what a lock or an ended lease says into the service's words.
func (b *buy) answer(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, lock.ErrBusy) && b.stage.LockKey == KeyUser && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", ErrOrderInProgress, err)
	case errors.Is(err, lock.ErrBusy):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, lock.ErrLost), errors.Is(err, lock.ErrClosed):
		return fmt.Errorf("%w: %w", ErrLockLost, err)
	}
	return err
}
