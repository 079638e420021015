package repository

import (
	"context"

	"gorm.io/gorm"

	"seckill/service"
)

// ResetVoucher:
//
//	UPDATE vouchers SET stock = ? WHERE id = ?
//	UPDATE stock SET stock = ?, version = 0 WHERE voucher_id = ?
//	DELETE FROM orders WHERE voucher_id = ?; DELETE FROM stock_units WHERE voucher_id = ?; INSERT INTO stock_units …
//
// The fence stays: tokens grow, and a holder from before the reset must still be refused.
func (s *Store) ResetVoucher(ctx context.Context, voucher service.ID, stock int) error {
	id := int64(voucher)
	return s.inGormTx(ctx, func(db *gorm.DB) error {
		res := db.Model(&voucherRow{}).Where("id = ?", id).Update("stock", stock)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			return gorm.ErrRecordNotFound
		}
		err := db.Model(&stockRow{}).Where("voucher_id = ?", id).
			Updates(map[string]any{"stock": stock, "version": 0}).Error
		if err != nil {
			return err
		}
		for _, table := range []any{&orderRow{}, &unitRow{}, &dueReturnRow{}} {
			if err := db.Where("voucher_id = ?", id).Delete(table).Error; err != nil {
				return err
			}
		}
		return insertUnits(db, id, stock)
	})
}

// Orders:
//
//	SELECT * FROM orders WHERE voucher_id = ? ORDER BY id
func (s *Store) Orders(ctx context.Context, voucher service.ID) ([]service.Order, error) {
	var rows []orderRow
	err := s.db.WithContext(ctx).Where("voucher_id = ?", int64(voucher)).Order("id").Find(&rows).Error
	if err := mapErr(ctx, err); err != nil {
		return nil, err
	}
	list := make([]service.Order, len(rows))
	for i, r := range rows {
		list[i] = r.order()
	}
	return list, nil
}
