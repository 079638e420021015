package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/service"
)

// InTx implements service.Store. The function must use the Tx alone; it may run several times when o.Retry is
// set, so it must leave no trace outside of the transaction before it returned nil.
//
//	BEGIN (SQLite: BEGIN IMMEDIATE) … COMMIT, or ROLLBACK when fn fails, panics or ctx ends
func (s *Store) InTx(ctx context.Context, o service.TxOptions, fn func(service.Tx) error) error {
	if !o.Retry {
		return s.once(ctx, fn)
	}
	return retryBusy(ctx, s.opt.Retries, func() error { return s.once(ctx, fn) })
}

func (s *Store) once(ctx context.Context, fn func(service.Tx) error) error {
	g, err := s.begin(ctx)
	if err != nil {
		return err
	}
	// After a commit this does nothing. It also runs when fn panics.
	defer g.Rollback()
	if err := fn(&tx{reads{db: g}}); err != nil {
		return err
	}
	// database/sql looks at ctx before it sends COMMIT; when ctx has ended it rolls back instead. Once COMMIT was
	// answered the order exists, and a ctx that ends now changes nothing about it.
	if err := g.Commit().Error; err != nil {
		return mapErr(ctx, err)
	}
	return nil
}

// begin opens the transaction. SQLite waits for its write lock inside a call that ctx can't interrupt, so that
// wait is cut into short ones.
func (s *Store) begin(ctx context.Context) (*gorm.DB, error) {
	deadline := time.Now().Add(s.opt.LockWait)
	for {
		g := s.writer.WithContext(ctx).Begin()
		err := mapErr(ctx, g.Error)
		if err == nil {
			return g, nil
		}
		if !errors.Is(err, service.ErrStoreBusy) || time.Now().After(deadline) {
			return nil, err
		}
	}
}

// tx is one write transaction.
type tx struct {
	reads
}

// StockForUpdate:
//
//	SELECT * FROM stock WHERE voucher_id = ? LIMIT 1 FOR UPDATE
//
// SQLite has no row locks and needs none: its transaction holds the write lock from BEGIN on.
func (t *tx) StockForUpdate(ctx context.Context, voucher service.ID) (service.Stock, error) {
	return readStock(ctx, t.db.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), voucher)
}

// SetStock:
//
//	UPDATE stock SET stock = ? WHERE voucher_id = ? [AND fence = ?]
func (t *tx) SetStock(ctx context.Context, voucher service.ID, left int, fence int64) error {
	n, err := changed(ctx, t.stock(ctx, voucher, fence).Update("stock", left))
	switch {
	case err != nil || n > 0:
		return err
	case fence > 0:
		return fmt.Errorf("%w: fence %d is not the row's", service.ErrLockLost, fence)
	}
	return fmt.Errorf("%w: stock of voucher %d", service.ErrNotFound, voucher)
}

// TakeOne:
//
//	UPDATE stock SET stock = stock - 1 WHERE voucher_id = ? [AND fence = ?] AND stock > 0
//
// When that changed nothing and there is a fence, a locking read tells whether the fence was the reason.
func (t *tx) TakeOne(ctx context.Context, voucher service.ID, fence int64) (bool, error) {
	n, err := changed(ctx, t.stock(ctx, voucher, fence).Where("stock > 0").Update("stock", gorm.Expr("stock - 1")))
	if err != nil || n > 0 || fence <= 0 {
		return n > 0, err
	}
	row, err := t.StockForUpdate(ctx, voucher) // a plain read could show the transaction's old snapshot
	if err == nil && row.Fence != fence {
		err = fmt.Errorf("%w: fence %d, the row has %d", service.ErrLockLost, fence, row.Fence)
	}
	return false, err
}

// TakeIfVersion:
//
//	UPDATE stock SET stock = stock - 1, version = version + 1 WHERE voucher_id = ? AND version = ? AND stock > 0
func (t *tx) TakeIfVersion(ctx context.Context, voucher service.ID, version int64) (bool, error) {
	n, err := changed(ctx, t.stock(ctx, voucher, 0).Where("version = ? AND stock > 0", version).
		Updates(map[string]any{"stock": gorm.Expr("stock - 1"), "version": gorm.Expr("version + 1")}))
	return n > 0, err
}

// ClaimFence:
//
//	UPDATE stock SET fence = ? WHERE voucher_id = ? AND fence < ?
func (t *tx) ClaimFence(ctx context.Context, voucher service.ID, fence int64) error {
	if fence <= 0 {
		return fmt.Errorf("%w: fence %d", service.ErrInvalid, fence)
	}
	n, err := changed(ctx, t.stock(ctx, voucher, 0).Where("fence < ?", fence).Update("fence", fence))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: a fence of %d or more has claimed the row", service.ErrLockLost, fence)
	}
	return err
}

// InsertOrder:
//
//	INSERT INTO orders (…, claim_user_id, …) VALUES (…, user or NULL, …)
//
// With unique on, a duplicate key is the claim's: ids are unique because worker numbers are leased.
func (t *tx) InsertOrder(ctx context.Context, o service.Order, unique bool) error {
	row := orderToRow(o, unique)
	err := mapErr(ctx, t.db.WithContext(ctx).Create(&row).Error)
	if unique && errors.Is(err, errDuplicate) {
		return fmt.Errorf("%w: %w", service.ErrAlreadyOrdered, err)
	}
	return err
}

// stock addresses the voucher's stock row, only while it carries the fence when there is one.
func (t *tx) stock(ctx context.Context, voucher service.ID, fence int64) *gorm.DB {
	q := t.db.WithContext(ctx).Model(&stockRow{}).Where("voucher_id = ?", int64(voucher))
	if fence > 0 {
		q = q.Where("fence = ?", fence)
	}
	return q
}

// changed is how many rows matched, with the driver's error mapped.
func changed(ctx context.Context, result *gorm.DB) (int64, error) {
	return result.RowsAffected, mapErr(ctx, result.Error)
}
