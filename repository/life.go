package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/service"
)

var _ service.LifeStore = (*Store)(nil)

// MoveOrder implements service.LifeStore.
//
//	SELECT * FROM orders WHERE id = ? LIMIT 1
//	UPDATE orders SET status = ?, … WHERE id = ? AND status = ?
//
// and when the unit goes back
//
//	UPDATE stock SET stock = stock + 1 WHERE voucher_id = ?   (or the order's row of stock_units is freed)
//	INSERT INTO due_returns …
//
// The update is a compare-and-set: of two moves at once one matches no row, and has no effect at all.
func (s *Store) MoveOrder(ctx context.Context, m service.Move) (service.Order, error) {
	var row orderRow
	err := s.inGormTx(ctx, func(db *gorm.DB) error {
		if err := db.Where("id = ?", int64(m.Order)).Take(&row).Error; err != nil {
			return err
		}
		if m.User != 0 && row.UserID != m.User {
			row = orderRow{}
			return service.ErrForbidden
		}
		moved := db.Model(&orderRow{}).Where("id = ? AND status = ?", row.ID, string(m.From)).Updates(moveColumns(m))
		if moved.Error != nil {
			return moved.Error
		}
		if moved.RowsAffected == 0 {
			return service.ErrInvalidState
		}
		row.Status, row.UpdatedAt = string(m.To), stamp(m.At)
		if !m.GiveBack {
			return nil
		}
		return giveBack(db, row, m.At)
	})
	if errors.Is(err, service.ErrInvalidState) {
		// The row as read may be older than the move that was faster; look again, outside of the transaction.
		if now, readErr := s.Order(ctx, m.Order); readErr == nil {
			return now, fmt.Errorf("%w: it is %s", err, now.Status)
		}
	}
	if err != nil {
		return service.Order{}, err
	}
	return row.order(), nil
}

func moveColumns(m service.Move) map[string]any {
	at := stamp(m.At)
	set := map[string]any{"status": string(m.To), "updated_at": at}
	switch m.To {
	case service.Paid:
		set["paid_at"] = at
	case service.Cancelled, service.Failed:
		set["cancelled_at"] = at
		set["claim_user_id"] = nil // the user may order again
	}
	if m.Reason != "" {
		set["reason"] = m.Reason
	}
	return set
}

// giveBack returns the unit of an order that had one, where it came from, and records that the gate is to be told.
func giveBack(db *gorm.DB, row orderRow, at time.Time) error {
	var unit unitRow
	err := db.Where("order_id = ?", row.ID).Take(&unit).Error
	switch {
	case err == nil:
		err = db.Model(&unitRow{}).Where("voucher_id = ? AND unit = ?", unit.VoucherID, unit.Unit).
			Update("order_id", nil).Error
	case errors.Is(err, gorm.ErrRecordNotFound):
		err = db.Model(&stockRow{}).Where("voucher_id = ?", row.VoucherID).Update("stock", gorm.Expr("stock + 1")).Error
	}
	if err != nil {
		return err
	}
	due := dueReturn(unitOf(row), true, at)
	return db.Create(&due).Error
}

func unitOf(r orderRow) service.Unit {
	return service.Unit{Order: service.ID(r.ID), Voucher: service.ID(r.VoucherID), User: r.UserID}
}

// Tombstone implements service.LifeStore.
//
//	INSERT INTO orders …; INSERT INTO due_returns …
//
// It takes no lock on the stock row: it never had stock, and a writer that meets it finds a duplicate key.
func (s *Store) Tombstone(ctx context.Context, u service.Unit, status service.Status, reason string, at time.Time) (service.Order, bool, error) {
	if status != service.Cancelled && status != service.Failed {
		return service.Order{}, false, fmt.Errorf("%w: a tombstone is not %s", service.ErrInvalid, status)
	}
	now := stamp(at)
	row := orderRow{
		ID: int64(u.Order), VoucherID: int64(u.Voucher), UserID: u.User, Status: string(status), Reason: &reason,
		CreatedAt: now, UpdatedAt: now, CancelledAt: &now,
	}
	err := s.inGormTx(ctx, func(db *gorm.DB) error {
		err := db.Model(&voucherRow{}).Select("price_cents").Where("id = ?", row.VoucherID).Scan(&row.PriceCents).Error
		if err != nil {
			return err
		}
		if err := db.Create(&row).Error; err != nil {
			return err
		}
		due := dueReturn(u, true, now)
		return db.Create(&due).Error
	})
	if errors.Is(err, errDuplicate) {
		there, err := s.Order(ctx, u.Order)
		return there, false, err
	}
	if err != nil {
		return service.Order{}, false, err
	}
	return row.order(), true, nil
}
