package repository

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/service"
)

// rowCounts are the list lengths that statements are made for. Each length is a statement text of its own, which
// both sides keep prepared, so there are few of them.
var rowCounts = []int{256, 64, 16, 4, 1}

// padded lengthens a list for IN (…) to one of rowCounts with copies of its last value, which change nothing.
func padded[T any](list []T) []T {
	want := len(list)
	for _, n := range rowCounts {
		if n >= len(list) {
			want = n
		}
	}
	for len(list) > 0 && len(list) < want {
		list = append(list, list[len(list)-1])
	}
	return list
}

// createAll inserts rows in as few statements as rowCounts allows.
func createAll[T any](db *gorm.DB, rows []T) error {
	for _, n := range rowCounts {
		for len(rows) >= n {
			part := rows[:n]
			if err := db.Create(&part).Error; err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

func (b *batch) readPrices() error {
	var rows []struct{ ID, PriceCents int64 }
	err := b.db.Model(&voucherRow{}).Select("id", "price_cents").Where("id IN ?", padded(b.vouchers())).Find(&rows).Error
	b.price = make(map[int64]int64, len(rows))
	for _, r := range rows {
		b.price[r.ID] = r.PriceCents
	}
	return err
}

func (b *batch) readRows() error {
	var rows []orderRow
	err := b.db.Select("id", "voucher_id", "user_id", "status").Where("id IN ?", padded(b.orderIDs())).Find(&rows).Error
	b.rows = make(map[int64]orderRow, len(b.orders))
	for _, r := range rows {
		b.rows[r.ID] = r
	}
	return err
}

// readDue reads how the units of ended orders go back: the transaction that ended them knew.
func (b *batch) readDue() error {
	b.due = make(map[int64]bool)
	var ended []int64
	for id, r := range b.rows {
		if s := service.Status(r.Status); s == service.Cancelled || s == service.Failed {
			ended = append(ended, id)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	var rows []dueReturnRow
	err := b.db.Where("order_id IN ?", padded(ended)).Find(&rows).Error
	for _, r := range rows {
		b.due[r.OrderID] = r.Restock == 1
	}
	return err
}

// readBuyers finds users of new orders who have a live order of the voucher already.
func (b *batch) readBuyers() error {
	users := make(map[int64][]int64, len(b.left))
	for _, o := range b.orders {
		if _, found := b.rows[int64(o.Order)]; !found {
			users[int64(o.Voucher)] = append(users[int64(o.Voucher)], o.User)
		}
	}
	b.buyers = make(map[int64]map[int64]bool, len(users))
	for voucher, list := range users {
		var live []int64
		err := b.db.Model(&orderRow{}).
			Where("voucher_id = ? AND user_id IN ? AND status IN ?", voucher, padded(list), occupying).
			Pluck("user_id", &live).Error
		if err != nil {
			return err
		}
		b.buyers[voucher] = make(map[int64]bool, len(list))
		for _, u := range live {
			b.buyers[voucher][u] = true
		}
	}
	return nil
}

func (b *batch) insertRows() error { return createAll(b.db, b.insert) }
func (b *batch) insertBack() error { return createAll(b.db, b.back) }

func (b *batch) takeStock() error {
	for _, voucher := range b.vouchers() {
		k := b.taken[voucher]
		if k == 0 {
			continue
		}
		result := b.db.Model(&stockRow{}).Where("voucher_id = ? AND stock >= ?", voucher, k).
			Update("stock", gorm.Expr("stock - ?", k))
		if result.Error != nil {
			return result.Error
		}
		if result.RowsAffected != 1 { // can't be while the row is locked
			return fmt.Errorf("stock of voucher %d: fewer than the %d units that were read", voucher, k)
		}
	}
	return nil
}

// dueReturnRow is a unit that still has to go back to the gate.
type dueReturnRow struct {
	OrderID   int64 `gorm:"primaryKey;autoIncrement:false"`
	VoucherID int64
	UserID    int64
	Restock   int
	EndedAt   time.Time
}

func (dueReturnRow) TableName() string { return "due_returns" }

func dueReturn(u service.Unit, restock bool, at time.Time) dueReturnRow {
	r := dueReturnRow{OrderID: int64(u.Order), VoucherID: int64(u.Voucher), UserID: u.User, EndedAt: stamp(at)}
	if restock {
		r.Restock = 1
	}
	return r
}
