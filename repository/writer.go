package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/service"
)

var _ service.BatchWriter = (*Store)(nil)

// WriteBatch implements service.BatchWriter.
//
//	SELECT * FROM stock WHERE voucher_id IN (…) ORDER BY voucher_id FOR UPDATE
//	SELECT id, price_cents FROM vouchers WHERE id IN (…)
//	SELECT id, voucher_id, user_id, status FROM orders WHERE id IN (…)
//	SELECT restock … FROM due_returns WHERE order_id IN (…)          only when some had ended
//	SELECT user_id FROM orders WHERE voucher_id = ? AND user_id IN (…) AND status IN ('created', 'paid')
//	INSERT INTO orders …                                             many rows each
//	UPDATE stock SET stock = stock - k WHERE voucher_id = ? AND stock >= k
//	INSERT INTO due_returns …                                        only when some were refused
//
// The lock comes first and in one order, so that two writers queue instead of meeting in a deadlock, and so that
// the reads after it see all that earlier writers committed. A row that others insert without the stock row's
// lock (a tombstone, an order of the sync path) shows as a duplicate key; then the whole transaction runs again and
// finds it.
func (s *Store) WriteBatch(ctx context.Context, orders []service.InFlight, now time.Time, beforeCommit func()) ([]service.WriteResult, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	var results []service.WriteResult
	err := retryBusy(ctx, s.opt.Retries, func() error {
		err := s.once(ctx, func(t service.Tx) (err error) {
			b := batch{db: t.(*tx).db.WithContext(ctx), ctx: ctx, orders: orders, now: stamp(now)}
			if results, err = b.write(); err == nil && beforeCommit != nil {
				beforeCommit()
			}
			return err
		})
		if errors.Is(err, errDuplicate) {
			return fmt.Errorf("%w: %w", service.ErrStoreBusy, err)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write %d orders: %w", len(orders), err)
	}
	return results, nil
}

// batch is one attempt at one batch.
type batch struct {
	db     *gorm.DB
	ctx    context.Context
	orders []service.InFlight
	now    time.Time

	left   map[int64]int            // stock by voucher, less what this batch took
	price  map[int64]int64          // by voucher
	rows   map[int64]orderRow       // rows with the batch's ids: found, then also written
	due    map[int64]bool           // restock by order that has ended and not gone back
	buyers map[int64]map[int64]bool // voucher -> users with a live order
	insert []orderRow               // in the batch's order
	back   []dueReturnRow           // refused ones
	taken  map[int64]int            // by voucher
}

func (b *batch) write() ([]service.WriteResult, error) {
	for _, step := range []func() error{b.lockStock, b.readPrices, b.readRows, b.readDue, b.readBuyers} {
		if err := mapErr(b.ctx, step()); err != nil {
			return nil, err
		}
	}
	results := make([]service.WriteResult, len(b.orders))
	b.taken = make(map[int64]int, len(b.left))
	for i, o := range b.orders {
		results[i] = b.decide(o)
	}
	for _, step := range []func() error{b.insertRows, b.takeStock, b.insertBack} {
		if err := mapErr(b.ctx, step()); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// decide says what becomes of one order and notes what has to be written for it.
func (b *batch) decide(o service.InFlight) service.WriteResult {
	voucher := int64(o.Voucher)
	left, known := b.left[voucher]
	if !known {
		return service.WriteResult{Outcome: service.NoVoucher}
	}
	if row, found := b.rows[int64(o.Order)]; found {
		return b.follow(o, row)
	}
	switch {
	case b.buyers[voucher][o.User]:
		return b.refuse(o, service.RefusedAlready, "the user has another order")
	case left < 1:
		return b.refuse(o, service.RefusedSoldOut, "sold out")
	}
	row := b.newRow(o, service.Created)
	row.ClaimUserID = &row.UserID
	b.add(row)
	b.left[voucher]--
	b.taken[voucher]++
	b.buyers[voucher][o.User] = true
	return service.WriteResult{Outcome: service.Wrote}
}

// follow: whoever inserted the row with this id has decided.
func (b *batch) follow(o service.InFlight, row orderRow) service.WriteResult {
	if row.UserID != o.User || row.VoucherID != int64(o.Voucher) {
		return service.WriteResult{Outcome: service.Foreign}
	}
	switch service.Status(row.Status) {
	case service.Created, service.Paid:
		return service.WriteResult{Outcome: service.Repeated}
	}
	restock, due := b.due[row.ID]
	return service.WriteResult{Outcome: service.AlreadyEnded, NoRestock: due && !restock}
}

func (b *batch) refuse(o service.InFlight, outcome service.WriteOutcome, reason string) service.WriteResult {
	row := b.newRow(o, service.Failed)
	row.Reason, row.CancelledAt = &reason, &b.now
	b.add(row)
	restock := outcome != service.RefusedSoldOut
	b.back = append(b.back, dueReturn(o.Unit, restock, b.now))
	b.due[row.ID] = restock
	return service.WriteResult{Outcome: outcome, NoRestock: !restock}
}

func (b *batch) newRow(o service.InFlight, status service.Status) orderRow {
	return orderRow{
		ID: int64(o.Order), VoucherID: int64(o.Voucher), UserID: o.User, Status: string(status),
		PriceCents: b.price[int64(o.Voucher)], CreatedAt: b.now, UpdatedAt: b.now,
	}
}

func (b *batch) add(row orderRow) {
	b.insert = append(b.insert, row)
	b.rows[row.ID] = row
}

func (b *batch) lockStock() error {
	var rows []stockRow
	err := b.db.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).
		Where("voucher_id IN ?", padded(b.vouchers())).Order("voucher_id").Find(&rows).Error
	b.left = make(map[int64]int, len(rows))
	for _, r := range rows {
		b.left[r.VoucherID] = r.Stock
	}
	return err
}

// vouchers are the batch's vouchers, each once and in order.
func (b *batch) vouchers() []int64 {
	ids := make([]int64, 0, len(b.orders))
	for _, o := range b.orders {
		ids = append(ids, int64(o.Voucher))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (b *batch) orderIDs() []int64 {
	ids := make([]int64, len(b.orders))
	for i, o := range b.orders {
		ids[i] = int64(o.Order)
	}
	return ids
}
