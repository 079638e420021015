package service

import (
	"fmt"
	"strconv"
	"time"
)

// ID is a 64-bit, time-ordered identifier. In JSON and in paths it is a decimal string, because a browser's
// numbers lose digits above 2^53.
type ID int64

// ParseID reads a positive decimal ID. Anything else (empty, signed, zero, too large, not a number) is ErrInvalid.
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: id %q is not a positive 64-bit decimal", ErrInvalid, s)
	}
	return ID(n), nil
}

// String is the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText makes the JSON form a string.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := ParseID(string(b))
	*id = v
	return err
}

// Voucher is what is sold. Times are UTC; the sale window is [BeginAt, EndAt).
type Voucher struct {
	ID         ID
	Title      string
	Stock      int // initial stock
	PriceCents int64
	BeginAt    time.Time
	EndAt      time.Time
	CreatedAt  time.Time
}

// Stock is a voucher's stock row.
type Stock struct {
	Left    int
	Version int64 // grows with every compare-and-set update
	Fence   int64 // the highest fencing token that claimed the row
}

// Status is an order's state.
type Status string

// The states of an order. Only created and paid occupy stock.
const (
	Pending   Status = "pending"
	Created   Status = "created"
	Paid      Status = "paid"
	Cancelled Status = "cancelled"
	Failed    Status = "failed"
)

// Order is one user's purchase of one unit.
type Order struct {
	ID         ID
	VoucherID  ID
	UserID     int64
	Status     Status
	PriceCents int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}
