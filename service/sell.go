package service

import (
	"context"
	"errors"
	"fmt"

	"seckill/lock"
)

// SellKey is the key that the /sell lesson locks.
const SellKey = "LOCK:PHONE"

// Sell is the simplest form of the lesson: one number in Redis, read and written back inside a lock.
type Sell struct {
	Stock SellStock
	// Locks are the lockers of /sell1, /sell2 and /sell3: a process mutex, a token lock of 10 s with one try, and a
	// renewed lock.
	Locks [3]lock.Locker
}

// One sells one unit under the n-th lock (1 to 3) and returns what is left. ErrBusy: try again. ErrSoldOut: none left.
func (s *Sell) One(ctx context.Context, n int) (left int, err error) {
	lease, err := s.Locks[n-1].Acquire(ctx, SellKey)
	if errors.Is(err, lock.ErrBusy) {
		return 0, fmt.Errorf("%w: try again", ErrBusy)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = lease.Release(ctx) }() // a failed release does not unmake the sale
	left, err = s.Stock.SellStock(ctx)
	if errors.Is(err, ErrNotFound) || (err == nil && left <= 0) {
		return 0, ErrSoldOut
	}
	if err != nil {
		return 0, err
	}
	left--
	return left, s.Stock.SetSellStock(ctx, left)
}

// Reset sets the stock.
func (s *Sell) Reset(ctx context.Context, stock int) error {
	if stock < 0 || stock > MaxStock {
		return invalid("stock must be 0 to %d", MaxStock)
	}
	return s.Stock.SetSellStock(ctx, stock)
}
