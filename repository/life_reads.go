package repository

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"seckill/service"
)

// OrdersByID implements service.LifeStore.
//
//	SELECT * FROM orders WHERE id IN (…)
func (s *Store) OrdersByID(ctx context.Context, ids []service.ID) (map[service.ID]service.Order, error) {
	out := make(map[service.ID]service.Order, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), rowCounts[0])
		var rows []orderRow
		err := s.db.WithContext(ctx).Where("id IN ?", padded(int64s(ids[:n]))).Find(&rows).Error
		if err := mapErr(ctx, err); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[service.ID(r.ID)] = r.order()
		}
		ids = ids[n:]
	}
	return out, nil
}

func int64s(ids []service.ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// UnpaidOrders implements service.LifeStore.
//
//	SELECT * FROM orders WHERE status = 'created' AND created_at < ? ORDER BY created_at LIMIT ?
func (s *Store) UnpaidOrders(ctx context.Context, before time.Time, limit int) ([]service.Order, error) {
	var rows []orderRow
	err := s.db.WithContext(ctx).Where("status = ? AND created_at < ?", string(service.Created), stamp(before)).
		Order("created_at").Limit(limit).Find(&rows).Error
	if err := mapErr(ctx, err); err != nil {
		return nil, err
	}
	list := make([]service.Order, len(rows))
	for i, r := range rows {
		list[i] = r.order()
	}
	return list, nil
}

// DueReturns implements service.LifeStore.
//
//	SELECT * FROM due_returns WHERE ended_at < ? ORDER BY ended_at LIMIT ?
func (s *Store) DueReturns(ctx context.Context, before time.Time, limit int) ([]service.DueReturn, error) {
	var rows []dueReturnRow
	err := s.db.WithContext(ctx).Where("ended_at < ?", stamp(before)).Order("ended_at").Limit(limit).Find(&rows).Error
	if err := mapErr(ctx, err); err != nil {
		return nil, err
	}
	list := make([]service.DueReturn, len(rows))
	for i, r := range rows {
		u := service.Unit{Order: service.ID(r.OrderID), Voucher: service.ID(r.VoucherID), User: r.UserID}
		list[i] = service.DueReturn{Back: service.Back{Unit: u, NoRestock: r.Restock == 0}, At: r.EndedAt.UTC()}
	}
	return list, nil
}

// ClearReturns implements service.LifeStore.
//
//	DELETE FROM due_returns WHERE order_id IN (…)
func (s *Store) ClearReturns(ctx context.Context, orders []service.ID) error {
	for len(orders) > 0 {
		n := min(len(orders), rowCounts[0])
		part := padded(int64s(orders[:n]))
		err := s.inGormTx(ctx, func(db *gorm.DB) error {
			return db.Where("order_id IN ?", part).Delete(&dueReturnRow{}).Error
		})
		if err != nil {
			return err
		}
		orders = orders[n:]
	}
	return nil
}

// gateStateSQL is one statement, so that stock and live orders are of one snapshot on both engines. A unit that
// was taken row by row (skip-locked) is taken off the stock row's count here, as in countsSQL.
const gateStateSQL = `
SELECT v.begin_at, v.end_at, s.stock - u.taken AS remaining, o.id AS order_id, o.user_id
FROM vouchers v
JOIN stock s ON s.voucher_id = v.id
CROSS JOIN (SELECT COUNT(*) AS taken FROM stock_units WHERE voucher_id = ? AND order_id IS NOT NULL) u
LEFT JOIN orders o ON o.voucher_id = v.id AND o.status IN ('created', 'paid')
WHERE v.id = ?`

// GateState implements service.LifeStore; it runs gateStateSQL.
func (s *Store) GateState(ctx context.Context, voucher service.ID) (service.Preheat, error) {
	var rows []struct {
		BeginAt, EndAt  time.Time
		Remaining       int
		OrderID, UserID sql.NullInt64
	}
	err := s.db.WithContext(ctx).Raw(gateStateSQL, int64(voucher), int64(voucher)).Scan(&rows).Error
	if err := mapErr(ctx, err); err != nil {
		return service.Preheat{}, err
	}
	if len(rows) == 0 {
		return service.Preheat{}, service.ErrNotFound
	}
	p := service.Preheat{Voucher: voucher, Capacity: rows[0].Remaining,
		BeginAt: rows[0].BeginAt.UTC(), EndAt: rows[0].EndAt.UTC()}
	for _, r := range rows {
		if r.OrderID.Valid {
			p.Live = append(p.Live, service.Unit{Order: service.ID(r.OrderID.Int64), Voucher: voucher, User: r.UserID.Int64})
		}
	}
	p.Capacity += len(p.Live)
	return p, nil
}
