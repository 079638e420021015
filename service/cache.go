package service

import (
	"context"
	"sync"
	"time"
)

const (
	voucherCacheFor = time.Second
	voucherCacheMax = 1024
)

// voucherCache keeps the rows that every order needs and no order changes: window and price. It never keeps a miss,
// and nothing in it speaks of the stock that is left. The zero value is ready.
type voucherCache struct {
	mu   sync.Mutex
	rows map[ID]cachedVoucher
}

type cachedVoucher struct {
	voucher Voucher
	read    time.Time
}

func (c *voucherCache) get(ctx context.Context, r Reads, id ID, now time.Time) (Voucher, error) {
	if v, ok := c.fresh(id, now); ok {
		return v, nil
	}
	v, err := r.Voucher(ctx, id)
	if err != nil {
		return Voucher{}, err
	}
	c.put(id, cachedVoucher{v, now})
	return v, nil
}

func (c *voucherCache) fresh(id ID, now time.Time) (Voucher, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row, ok := c.rows[id]
	age := now.Sub(row.read)
	return row.voucher, ok && age >= 0 && age < voucherCacheFor
}

func (c *voucherCache) put(id ID, row cachedVoucher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil || len(c.rows) >= voucherCacheMax {
		c.rows = map[ID]cachedVoucher{} // old ones are read again; cheaper than keeping an order of use
	}
	c.rows[id] = row
}
