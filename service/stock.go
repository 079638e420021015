package service

import "context"

// read is what an order wants to know before it works, each with its own statement: has this user ordered, and how
// many units are left.
func (b *buy) read(ctx context.Context, r Reads) (Stock, error) {
	if err := b.firstOrder(ctx, r); err != nil {
		return Stock{}, err
	}
	return b.unitsLeft(ctx, r.Stock)
}

// firstOrder is the rule of one order per user.
func (b *buy) firstOrder(ctx context.Context, r Reads) error {
	has, err := r.HasOrder(ctx, b.order.VoucherID, b.order.UserID)
	if err == nil && has {
		return ErrAlreadyOrdered
	}
	return err
}

// unitsLeft reads the stock in the given way; none left is ErrSoldOut.
func (b *buy) unitsLeft(ctx context.Context, read func(context.Context, ID) (Stock, error)) (Stock, error) {
	seen, err := read(ctx, b.order.VoucherID)
	if err == nil && seen.Left <= 0 {
		return Stock{}, ErrSoldOut
	}
	return seen, err
}

// write takes one unit out of the stock that was seen and inserts the order.
func (b *buy) write(ctx context.Context, tx Tx, seen Stock, fence int64) error {
	switch b.stage.StockUpdate {
	case UpdateConditional:
		return b.takeConditionally(ctx, tx, fence)
	case UpdateCAS:
		return b.takeIfUnchanged(ctx, tx, seen)
	}
	return b.setStock(ctx, tx, seen, fence)
}

// setStock is the naive update: it writes what was read, less one, whatever the row says by now.
func (b *buy) setStock(ctx context.Context, tx Tx, seen Stock, fence int64) error {
	if err := tx.SetStock(ctx, b.order.VoucherID, seen.Left-1, fence); err != nil {
		return err
	}
	return b.insert(ctx, tx)
}

// takeConditionally lets the database decide: it decrements where stock > 0. The order goes first, so that a user's
// second click fails on the unique index before it queues for the stock row.
func (b *buy) takeConditionally(ctx context.Context, tx Tx, fence int64) error {
	if err := b.insert(ctx, tx); err != nil {
		return err
	}
	took, err := tx.TakeOne(ctx, b.order.VoucherID, fence)
	if err == nil && !took {
		return ErrSoldOut
	}
	return err
}

// takeIfUnchanged decrements where the version is still the one that was read.
func (b *buy) takeIfUnchanged(ctx context.Context, tx Tx, seen Stock) error {
	took, err := tx.TakeIfVersion(ctx, b.order.VoucherID, seen.Version)
	if err != nil {
		return err
	}
	if !took {
		return errConflict
	}
	return b.insert(ctx, tx)
}

// readAndWrite is for the stages whose lock is the database's: everything happens inside the transaction.
func (b *buy) readAndWrite(ctx context.Context, tx Tx, fence int64) error {
	if b.stage.StockUpdate == UpdateSkipLocked {
		return b.takeUnit(ctx, tx)
	}
	seen, err := b.lockedRead(ctx, tx)
	if err != nil {
		return err
	}
	if err := b.work(ctx); err != nil {
		return err
	}
	return b.setStock(ctx, tx, seen, fence)
}

// lockedRead locks the stock row first and asks for the user's order after that: a plain read before the lock would
// fix a snapshot that is older than the lock.
func (b *buy) lockedRead(ctx context.Context, tx Tx) (Stock, error) {
	seen, err := tx.StockForUpdate(ctx, b.order.VoucherID)
	if err != nil {
		return Stock{}, err
	}
	if err := b.firstOrder(ctx, tx); err != nil {
		return Stock{}, err
	}
	return b.unitsLeft(ctx, func(context.Context, ID) (Stock, error) { return seen, nil })
}

// takeUnit locks one free unit row. The user's order was asked for before BEGIN, because a plain read in here would fix
// a snapshot from before the units that others took meanwhile. The order goes first: a user's second click then waits on the unique index with
// empty hands, where it would otherwise keep a unit from somebody who is told that all of them are busy.
func (b *buy) takeUnit(ctx context.Context, tx Tx) error {
	if err := b.insert(ctx, tx); err != nil {
		return err
	}
	if err := tx.TakeUnit(ctx, b.order.VoucherID, b.order.ID); err != nil {
		return err
	}
	return b.work(ctx)
}

func (b *buy) insert(ctx context.Context, tx Tx) error {
	return tx.InsertOrder(ctx, b.order, b.stage.Unique)
}
