package repository

import (
	"time"

	"seckill/service"
)

// The rows as GORM sees them. No column has a default, so GORM leaves no zero value out, and its own time stamps
// are off: the clock is the service's.

type voucherRow struct {
	ID         int64 `gorm:"primaryKey;autoIncrement:false"`
	Title      string
	Stock      int
	PriceCents int64
	BeginAt    time.Time
	EndAt      time.Time
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
}

func (voucherRow) TableName() string { return "vouchers" }

type stockRow struct {
	VoucherID int64 `gorm:"primaryKey;autoIncrement:false"`
	Stock     int
	Version   int64
	Fence     int64
}

func (stockRow) TableName() string { return "stock" }

type unitRow struct {
	VoucherID int64 `gorm:"primaryKey;autoIncrement:false"`
	Unit      int   `gorm:"primaryKey;autoIncrement:false"`
	OrderID   *int64
}

func (unitRow) TableName() string { return "stock_units" }

type orderRow struct {
	ID          int64 `gorm:"primaryKey;autoIncrement:false"`
	VoucherID   int64
	UserID      int64
	ClaimUserID *int64 // NULL: not bound by one order per user
	Status      string
	PriceCents  int64
	Reason      *string   // why it was cancelled or failed
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
	PaidAt      *time.Time
	CancelledAt *time.Time
}

func (orderRow) TableName() string { return "orders" }

// stamp is t as both engines keep it: UTC, microseconds cut off. (Left to itself MySQL rounds, so that an instant
// could come back later than it was.)
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func voucherToRow(v service.Voucher) voucherRow {
	return voucherRow{
		ID: int64(v.ID), Title: v.Title, Stock: v.Stock, PriceCents: v.PriceCents,
		BeginAt: stamp(v.BeginAt), EndAt: stamp(v.EndAt), CreatedAt: stamp(v.CreatedAt),
	}
}

func (r voucherRow) voucher() service.Voucher {
	return service.Voucher{
		ID: service.ID(r.ID), Title: r.Title, Stock: r.Stock, PriceCents: r.PriceCents,
		BeginAt: r.BeginAt.UTC(), EndAt: r.EndAt.UTC(), CreatedAt: r.CreatedAt.UTC(),
	}
}

func orderToRow(o service.Order, unique bool) orderRow {
	r := orderRow{
		ID: int64(o.ID), VoucherID: int64(o.VoucherID), UserID: o.UserID, Status: string(o.Status),
		PriceCents: o.PriceCents, CreatedAt: stamp(o.CreatedAt), UpdatedAt: stamp(o.UpdatedAt),
	}
	if unique {
		r.ClaimUserID = &r.UserID
	}
	return r
}

func (r orderRow) order() service.Order {
	return service.Order{
		ID: service.ID(r.ID), VoucherID: service.ID(r.VoucherID), UserID: r.UserID,
		Status: service.Status(r.Status), PriceCents: r.PriceCents,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

func (r stockRow) stock() service.Stock {
	return service.Stock{Left: r.Stock, Version: r.Version, Fence: r.Fence}
}
