package repository

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm/clause"

	"seckill/service"
)

// TakeUnit:
//
//	SELECT unit FROM stock_units WHERE voucher_id = ? AND order_id IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED
//	UPDATE stock_units SET order_id = ? WHERE voucher_id = ? AND unit = ?
//
// and, when no unit came back, to tell sold out from "the free ones are all in other hands":
//
//	SELECT unit FROM stock_units WHERE voucher_id = ? AND order_id IS NULL LIMIT 1
//
// It does not touch the stock row, which would be one queue for all again; Counts takes the units off.
func (t *tx) TakeUnit(ctx context.Context, voucher, order service.ID) error {
	skipLocked := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
	unit, err := t.freeUnit(ctx, voucher, skipLocked)
	if errors.Is(err, service.ErrNotFound) {
		if _, err = t.freeUnit(ctx, voucher); err == nil {
			return fmt.Errorf("%w: all free units are locked", service.ErrBusy)
		}
		if errors.Is(err, service.ErrNotFound) {
			return service.ErrSoldOut
		}
	}
	if err != nil {
		return err
	}
	_, err = changed(ctx, t.db.WithContext(ctx).Model(&unitRow{}).
		Where("voucher_id = ? AND unit = ?", int64(voucher), unit).Update("order_id", int64(order)))
	return err
}

func (t *tx) freeUnit(ctx context.Context, voucher service.ID, locking ...clause.Expression) (int, error) {
	var row unitRow
	err := t.db.WithContext(ctx).Clauses(locking...).Select("unit").
		Where("voucher_id = ? AND order_id IS NULL", int64(voucher)).Take(&row).Error
	return row.Unit, mapErr(ctx, err)
}
