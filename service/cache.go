package service

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	voucherCacheFor = time.Second
	voucherCacheMax = 1024
	// voucherStaleFor is the age up to which a row is used when the database does not answer.
	voucherStaleFor = time.Minute
	// voucherReadWithin bounds the reading of a row that is there in an older version.
	voucherReadWithin = 500 * time.Millisecond
)

// voucherCache keeps the rows that every order needs and no order changes: window and price. It never keeps a miss,
// and nothing in it speaks of the stock that is left. A row that is older than a second is read again, by one of those
// who want it; the others, and all of them while the database is away, get the old one, so that the stream path goes on
// accepting. The zero value is ready.
type voucherCache struct {
	mu   sync.Mutex
	rows map[ID]cachedVoucher
}

type cachedVoucher struct {
	voucher Voucher
	read    time.Time
	tried   time.Time // when it was last read or tried to be
}

func (c *voucherCache) get(ctx context.Context, r Reads, id ID, now time.Time) (Voucher, error) {
	old, usable, mine := c.look(id, now)
	if usable && !mine {
		return old, nil
	}
	if usable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, voucherReadWithin)
		defer cancel()
	}
	v, err := r.Voucher(ctx, id)
	switch {
	case err == nil:
		c.put(id, cachedVoucher{v, now, now})
		return v, nil
	case usable && !errors.Is(err, ErrNotFound):
		return old, nil
	}
	return Voucher{}, err
}

// look finds the row. mine: it is the caller's turn to read it again.
func (c *voucherCache) look(id ID, now time.Time) (v Voucher, usable, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row, ok := c.rows[id]
	if !ok || !within(now, row.read, voucherStaleFor) {
		return Voucher{}, false, true
	}
	if within(now, row.tried, voucherCacheFor) {
		return row.voucher, true, false
	}
	row.tried = now
	c.rows[id] = row
	return row.voucher, true, true
}

// within tells whether t lies less than d before now, and not after it: clocks step.
func within(now, t time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return age >= 0 && age < d
}

func (c *voucherCache) put(id ID, row cachedVoucher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil || len(c.rows) >= voucherCacheMax {
		c.rows = map[ID]cachedVoucher{} // old ones are read again; cheaper than keeping an order of use
	}
	c.rows[id] = row
}
