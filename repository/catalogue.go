package repository

import (
	"context"

	"gorm.io/gorm"

	"seckill/service"
)

// unitsPerInsert is how many unit rows one statement writes.
const unitsPerInsert = 500

// CreateVoucher:
//
//	INSERT INTO vouchers …; INSERT INTO stock …; INSERT INTO stock_units … (one row per unit)
func (s *Store) CreateVoucher(ctx context.Context, v service.Voucher) error {
	return s.inGormTx(ctx, func(db *gorm.DB) error {
		row := voucherToRow(v)
		if err := db.Create(&row).Error; err != nil {
			return err
		}
		if err := db.Create(&stockRow{VoucherID: row.ID, Stock: v.Stock}).Error; err != nil {
			return err
		}
		return insertUnits(db, row.ID, v.Stock)
	})
}

func insertUnits(db *gorm.DB, voucher int64, n int) error {
	units := make([]unitRow, n)
	for i := range units {
		units[i] = unitRow{VoucherID: voucher, Unit: i + 1}
	}
	if n == 0 {
		return nil
	}
	return db.CreateInBatches(units, unitsPerInsert).Error
}

// Vouchers:
//
//	SELECT * FROM vouchers ORDER BY id DESC LIMIT ?
func (s *Store) Vouchers(ctx context.Context, limit int) ([]service.Voucher, error) {
	var rows []voucherRow
	if err := mapErr(ctx, s.db.WithContext(ctx).Order("id DESC").Limit(limit).Find(&rows).Error); err != nil {
		return nil, err
	}
	list := make([]service.Voucher, len(rows))
	for i, r := range rows {
		list[i] = r.voucher()
	}
	return list, nil
}

// Order:
//
//	SELECT * FROM orders WHERE id = ? LIMIT 1
func (s *Store) Order(ctx context.Context, id service.ID) (service.Order, error) {
	var row orderRow
	err := s.db.WithContext(ctx).Where("id = ?", int64(id)).Take(&row).Error
	return row.order(), mapErr(ctx, err)
}

// countsSQL is one statement, so that all of it is of one snapshot on both engines. The stock row counts what
// most stages sell; a unit that was taken row by row (skip-locked) is taken off it here.
const countsSQL = `
SELECT v.stock AS initial,
       s.stock - (SELECT COUNT(*) FROM stock_units u WHERE u.voucher_id = v.id AND u.order_id IS NOT NULL) AS remaining,
       (SELECT COUNT(*) FROM orders o WHERE o.voucher_id = v.id AND o.status IN ('created', 'paid')) AS orders,
       (SELECT COUNT(DISTINCT o.user_id) FROM orders o WHERE o.voucher_id = v.id AND o.status IN ('created', 'paid')) AS users,
       (SELECT COUNT(*) FROM orders o WHERE o.voucher_id = v.id AND o.status = 'pending') AS in_flight
FROM vouchers v JOIN stock s ON s.voucher_id = v.id
WHERE v.id = ?`

// Counts runs countsSQL.
func (s *Store) Counts(ctx context.Context, voucher service.ID) (service.Counts, error) {
	var row struct{ Initial, Remaining, Orders, Users, InFlight int }
	result := s.db.WithContext(ctx).Raw(countsSQL, int64(voucher)).Scan(&row)
	if n, err := changed(ctx, result); err != nil {
		return service.Counts{}, err
	} else if n == 0 {
		return service.Counts{}, service.ErrNotFound
	}
	return service.Counts{Initial: row.Initial, Left: row.Remaining, Orders: row.Orders, Users: row.Users,
		InFlight: row.InFlight}, nil
}

// inGormTx is InTx for the statements of this package that no stage needs. It is retried.
func (s *Store) inGormTx(ctx context.Context, fn func(*gorm.DB) error) error {
	return s.InTx(ctx, service.TxOptions{Retry: true}, func(t service.Tx) error {
		return mapErr(ctx, fn(t.(*tx).db.WithContext(ctx)))
	})
}
