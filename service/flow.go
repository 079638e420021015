package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"seckill/lock"
)

// errConflict: the version moved between the read and the write of an optimistic stage.
var errConflict = errors.New("the stock changed since it was read")

// around is the order flow as it should be: lock, read, work, begin, write, commit, unlock.
func (b *buy) around(ctx context.Context) error {
	lease, err := b.locker.Acquire(ctx, b.key)
	if err != nil {
		return err
	}
	defer b.unlock(ctx, lease)
	ctx = b.workContext(ctx, lease)
	return lostOr(ctx, b.underLock(ctx, lease))
}

func (b *buy) underLock(ctx context.Context, lease *lock.Lease) error {
	fence := lease.Fence()
	if err := b.claimRow(ctx, fence); err != nil {
		return err
	}
	if b.stage.readsInside() {
		if err := b.firstOrder(ctx, b.Store); err != nil {
			return err
		}
		return b.commit(ctx, lease, func(tx Tx) error { return b.readAndWrite(ctx, tx, fence) })
	}
	seen, err := b.read(ctx, b.Store)
	if err != nil {
		return err
	}
	if err := b.work(ctx); err != nil {
		return err
	}
	return b.commit(ctx, lease, func(tx Tx) error { return b.write(ctx, tx, seen, fence) })
}

// early unlocks before the work and the commit, so the next holder reads what this one is about to overwrite.
func (b *buy) early(ctx context.Context) error {
	seen, err := b.readUnderLock(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := b.work(ctx); err != nil {
		return err
	}
	return b.commit(ctx, nil, func(tx Tx) error { return b.write(ctx, tx, seen, 0) })
}

func (b *buy) readUnderLock(ctx context.Context) (Stock, error) {
	lease, err := b.locker.Acquire(ctx, b.key)
	if err != nil {
		return Stock{}, err
	}
	defer b.unlock(ctx, lease)
	return b.read(context.WithoutCancel(ctx), b.Store)
}

// late begins and reads before it locks: under repeatable read its snapshot is then older than its lock.
// It commits before it unlocks.
func (b *buy) late(ctx context.Context) error {
	var lease *lock.Lease
	defer func() { b.unlock(ctx, lease) }()
	inner := context.WithoutCancel(ctx)
	return b.commit(inner, nil, func(tx Tx) (err error) {
		if err := b.firstOrder(inner, tx); err != nil {
			return err
		}
		if lease, err = b.locker.Acquire(ctx, b.key); err != nil {
			return err
		}
		seen, err := b.unitsLeft(inner, tx.Stock)
		if err != nil {
			return err
		}
		if err := b.work(inner); err != nil {
			return err
		}
		return b.write(inner, tx, seen, 0)
	})
}

// nested locks around the order check and, still inside, calls the save, which locks again. The lease's context tells
// a re-entrant lock that its own holder is asking; the others wait for themselves.
func (b *buy) nested(ctx context.Context) error {
	outer, err := b.locker.Acquire(ctx, b.key)
	if err != nil {
		return err
	}
	defer b.unlock(ctx, outer)
	if err := b.firstOrder(b.workContext(ctx, outer), b.Store); err != nil {
		return err
	}
	inside, cancel := withCancelOf(outer.Context(), ctx)
	defer cancel()
	switch b.stage.LockSpan {
	case SpanEarly:
		return b.early(inside)
	case SpanLate:
		return b.late(inside)
	}
	return b.around(inside)
}

// commit runs the write transaction. A stage that heeds its lease checks it before the first write and again as the
// last thing before COMMIT; a pause after that check is what only a fencing token catches. The statements run on ctx
// and end with the lease, the transaction itself does not: whether a timer still beats COMMIT would be luck, no safety.
func (b *buy) commit(ctx context.Context, lease *lock.Lease, write func(Tx) error) error {
	retry := b.stage.StockUpdate != UpdateNaive && b.stage.LockSpan != SpanLate
	return b.Store.InTx(context.WithoutCancel(ctx), TxOptions{Retry: retry}, func(tx Tx) error {
		if err := b.check(lease); err != nil {
			return err
		}
		if err := write(tx); err != nil {
			return err
		}
		if err := b.check(lease); err != nil {
			return err
		}
		b.Holds.Reach(HoldCommit)
		return nil
	})
}

// workContext is what reads, work and writes run on once the lock is had: never ended by the client's leaving, and
// ended with the lease where the stage heeds its loss.
func (b *buy) workContext(ctx context.Context, lease *lock.Lease) context.Context {
	if b.stage.OnLoss == LossStop {
		return lease.Context()
	}
	return context.WithoutCancel(ctx)
}

func (b *buy) check(lease *lock.Lease) error {
	if b.stage.OnLoss != LossStop || lease == nil {
		return nil
	}
	return lease.Check()
}

// unlock gives the lease back. A release that fails after COMMIT does not unmake the order, so its error is left to
// the locker's observer.
func (b *buy) unlock(ctx context.Context, lease *lock.Lease) {
	if lease != nil {
		_ = lease.Release(ctx)
	}
}

// claimRow writes the fencing token into the stock row before anything is read: from then on no holder with a smaller
// token can write. Checking the token on the write alone would let both holders read the same stock.
func (b *buy) claimRow(ctx context.Context, fence int64) error {
	if fence == 0 {
		return nil
	}
	return b.Store.InTx(ctx, TxOptions{Retry: true}, func(tx Tx) error {
		return tx.ClaimFence(ctx, b.order.VoucherID, fence)
	})
}

// lostOr names the lost lease as the reason when work that runs on its context fails, whatever words the database's
// driver found for the interruption.
func lostOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%w: %w (%v)", ErrLockLost, cause, err)
	}
	return err
}

// work is the time an order computes: risk rules, prices, another service. It ends early when the lease is lost.
func (b *buy) work(ctx context.Context) error {
	if b.Work > 0 && !sleep(ctx, b.Work) {
		return context.Cause(ctx)
	}
	b.Holds.Reach(HoldCritical)
	return nil
}

// optimistically runs the span again while the version had moved, CASRetries times after the first. Other stages know
// no conflict and run once.
func (b *buy) optimistically(ctx context.Context, span func(context.Context) error) error {
	for try := 0; ; try++ {
		err := span(ctx)
		if !errors.Is(err, errConflict) {
			return err
		}
		if try >= b.stage.CASRetries {
			if _, err := b.unitsLeft(ctx, b.Store.Stock); err != nil {
				return err
			}
			return ErrGaveUp
		}
		if !sleep(ctx, backoff(try)) {
			return errors.Join(ErrBusy, ctx.Err())
		}
	}
}

// backoff is a random time below a bound that doubles from 1 ms to 32 ms, so that the losers do not meet again.
func backoff(try int) time.Duration {
	return rand.N(time.Millisecond << min(try, 5))
}

// sleep waits for d and tells whether it did; false: ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// withCancelOf is ctx that also ends when other does.
func withCancelOf(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}
