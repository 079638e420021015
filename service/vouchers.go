package service

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a voucher.
const (
	MaxStock      = 1_000_000 // one unit row each
	MaxTitle      = 200       // characters
	MaxPriceCents = 1_000_000_000_00
	listLimit     = 100
)

// Vouchers creates and shows vouchers, shows orders to their owners and audits a sale. Its fields are set before the
// first call; it is safe for concurrent use.
type Vouchers struct {
	Catalogue Catalogue
	// Lab is nil outside of lab mode.
	Lab LabStore
	// Gate is the admission state. Nil: there is none, and no order is ever in flight.
	Gate GateKeeper
	IDs  IDSource
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// NewVoucher is what a voucher is created from.
type NewVoucher struct {
	Title          string
	Stock          int
	PriceCents     int64
	BeginAt, EndAt time.Time
}

// Validate says what is wrong: ErrInvalid with one sentence, or nil.
func (n NewVoucher) Validate() error {
	switch title := strings.TrimSpace(n.Title); {
	case title == "" || utf8.RuneCountInString(title) > MaxTitle || !utf8.ValidString(title):
		return invalid("title must have 1 to %d characters", MaxTitle)
	case n.Stock < 0 || n.Stock > MaxStock:
		return invalid("stock must be 0 to %d", MaxStock)
	case n.PriceCents < 0 || n.PriceCents > MaxPriceCents:
		return invalid("price_cents must be 0 to %d", int64(MaxPriceCents))
	case !storable(n.BeginAt) || !storable(n.EndAt):
		return invalid("begin_at and end_at must lie in the years 1970 to 9998")
	case !n.BeginAt.Before(n.EndAt):
		return invalid("begin_at must be before end_at")
	}
	return nil
}

// storable tells whether every engine keeps the time, also after a change of zone.
func storable(t time.Time) bool { return t.UTC().Year() >= 1970 && t.UTC().Year() <= 9998 }

// Create checks and writes a voucher. Its times are kept in UTC and to the microsecond.
func (s *Vouchers) Create(ctx context.Context, n NewVoucher) (Voucher, error) {
	n.BeginAt, n.EndAt = stored(n.BeginAt), stored(n.EndAt)
	if err := n.Validate(); err != nil {
		return Voucher{}, err
	}
	id, err := s.IDs.NextID(ctx)
	if err != nil {
		return Voucher{}, err
	}
	v := Voucher{
		ID: id, Title: strings.TrimSpace(n.Title), Stock: n.Stock, PriceCents: n.PriceCents,
		BeginAt: n.BeginAt, EndAt: n.EndAt, CreatedAt: stored(s.now()),
	}
	return v, s.Catalogue.CreateVoucher(ctx, v)
}

// stored is the form in which every engine gives a time back.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// List is the newest vouchers, at most 100.
func (s *Vouchers) List(ctx context.Context) ([]Voucher, error) {
	return s.Catalogue.Vouchers(ctx, listLimit)
}

// Get is one voucher and its stock.
func (s *Vouchers) Get(ctx context.Context, id ID) (Voucher, Stock, error) {
	v, err := s.Catalogue.Voucher(ctx, id)
	if err != nil {
		return Voucher{}, Stock{}, err
	}
	left, err := s.Catalogue.Stock(ctx, id)
	return v, left, err
}

// Order shows an order to its owner; to others it is ErrForbidden. An order that was accepted and has no row yet is
// shown as pending, by every process.
func (s *Vouchers) Order(ctx context.Context, id ID, user int64) (Order, error) {
	o, err := s.Catalogue.Order(ctx, id)
	if errors.Is(err, ErrNotFound) && s.Gate != nil {
		o, err = s.inFlight(ctx, id)
	}
	if err != nil {
		return Order{}, err
	}
	if o.UserID != user {
		return Order{}, ErrForbidden
	}
	return o, nil
}

// inFlight looks for the order in the gate, and then once more for its row: it may have been written between the two.
func (s *Vouchers) inFlight(ctx context.Context, id ID) (Order, error) {
	f, ok, err := s.Gate.FindInFlight(ctx, id)
	if err != nil {
		return Order{}, err
	}
	if !ok {
		return s.Catalogue.Order(ctx, id)
	}
	v, err := s.Catalogue.Voucher(ctx, f.Voucher)
	return Order{ID: id, VoucherID: f.Voucher, UserID: f.User, Status: Pending, PriceCents: v.PriceCents,
		CreatedAt: f.At, UpdatedAt: f.At}, err
}

// Reset makes the voucher new: this stock, all of it left, and no orders. Lab only.
func (s *Vouchers) Reset(ctx context.Context, id ID, stock int) error {
	if stock < 0 || stock > MaxStock {
		return invalid("stock must be 0 to %d", MaxStock)
	}
	if err := s.Lab.ResetVoucher(ctx, id, stock); err != nil || s.Gate == nil {
		return err
	}
	return s.Gate.Forget(ctx, id)
}

// Orders lists every order of the voucher. Lab only.
func (s *Vouchers) Orders(ctx context.Context, id ID) ([]Order, error) {
	if _, err := s.Catalogue.Voucher(ctx, id); err != nil {
		return nil, err
	}
	return s.Lab.Orders(ctx, id)
}

func (s *Vouchers) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
