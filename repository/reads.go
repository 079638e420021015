package repository

import (
	"context"

	"gorm.io/gorm"

	"seckill/service"
)

// reads are the reading statements. On a Store each runs on its own; on a transaction they run inside it.
type reads struct {
	db *gorm.DB
}

// occupying are the states in which an order occupies stock.
var occupying = []string{string(service.Created), string(service.Paid)}

// Voucher:
//
//	SELECT * FROM vouchers WHERE id = ? LIMIT 1
func (r reads) Voucher(ctx context.Context, id service.ID) (service.Voucher, error) {
	var row voucherRow
	err := r.db.WithContext(ctx).Where("id = ?", int64(id)).Take(&row).Error
	return row.voucher(), mapErr(ctx, err)
}

// HasOrder:
//
//	SELECT id FROM orders WHERE voucher_id = ? AND user_id = ? AND status IN ('created', 'paid') LIMIT 1
func (r reads) HasOrder(ctx context.Context, voucher service.ID, user int64) (bool, error) {
	var ids []int64
	err := r.db.WithContext(ctx).Model(&orderRow{}).
		Where("voucher_id = ? AND user_id = ? AND status IN ?", int64(voucher), user, occupying).
		Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, mapErr(ctx, err)
}

// Stock:
//
//	SELECT * FROM stock WHERE voucher_id = ? LIMIT 1
func (r reads) Stock(ctx context.Context, voucher service.ID) (service.Stock, error) {
	return readStock(ctx, r.db, voucher)
}

func readStock(ctx context.Context, db *gorm.DB, voucher service.ID) (service.Stock, error) {
	var row stockRow
	err := db.WithContext(ctx).Where("voucher_id = ?", int64(voucher)).Take(&row).Error
	return row.stock(), mapErr(ctx, err)
}
