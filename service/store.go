package service

import "context"

// Reads are the statements a stage may run outside of a transaction, each on its own.
type Reads interface {
	// Voucher returns ErrNotFound when there is none.
	Voucher(ctx context.Context, id ID) (Voucher, error)
	// HasOrder tells whether the user has an order of the voucher that occupies stock (created or paid).
	HasOrder(ctx context.Context, voucher ID, user int64) (bool, error)
	// Stock returns ErrNotFound when the voucher has no stock row.
	Stock(ctx context.Context, voucher ID) (Stock, error)
}

// Tx is one write transaction. Writes exist only here, so that a write outside of a transaction does not compile.
// It is for one goroutine.
type Tx interface {
	Reads
	// StockForUpdate reads the stock row with a row lock (SELECT … FOR UPDATE).
	StockForUpdate(ctx context.Context, voucher ID) (Stock, error)
	// SetStock writes an absolute value, the naive update. A fence above 0 adds AND fence = ? and makes a
	// mismatch ErrLockLost.
	SetStock(ctx context.Context, voucher ID, left int, fence int64) error
	// TakeOne decrements where stock > 0 and tells whether a unit was taken; fence as for SetStock.
	TakeOne(ctx context.Context, voucher ID, fence int64) (bool, error)
	// TakeIfVersion decrements where stock > 0 and the version is still the one read; false: it was not.
	TakeIfVersion(ctx context.Context, voucher ID, version int64) (bool, error)
	// TakeUnit takes one unlocked unit row for the order (SELECT … SKIP LOCKED). ErrSoldOut when none is free,
	// ErrBusy when some are free but all of those are locked.
	TakeUnit(ctx context.Context, voucher, order ID) error
	// ClaimFence writes the fencing token where the row's is smaller; ErrLockLost when no row was changed, and
	// ErrInvalid for a token of 0.
	ClaimFence(ctx context.Context, voucher ID, fence int64) error
	// InsertOrder writes the order; with unique on, a second live order of the user is ErrAlreadyOrdered.
	InsertOrder(ctx context.Context, o Order, unique bool) error
}

// TxOptions says how a write transaction runs.
type TxOptions struct {
	// Retry lets the store run the function again, a bounded number of times with jitter, when the database
	// refuses for want of a lock. Naive stages never set it: their read was outside.
	Retry bool
}

// Store is what placing an order needs of the database.
type Store interface {
	Reads
	// InTx runs fn in one write transaction (BEGIN IMMEDIATE on SQLite) on ctx and commits when fn returns nil.
	// A ctx that ends before COMMIT is sent rolls back.
	InTx(ctx context.Context, o TxOptions, fn func(Tx) error) error
}

// IDSource mints order and voucher ids.
type IDSource interface {
	NextID(ctx context.Context) (ID, error)
}

// Catalogue is what vouchers, orders and the audit need of the database besides placing.
type Catalogue interface {
	Reads
	// CreateVoucher writes the voucher, its stock row and one unit row per unit, in one transaction.
	CreateVoucher(ctx context.Context, v Voucher) error
	// Vouchers lists at most limit vouchers, the newest first.
	Vouchers(ctx context.Context, limit int) ([]Voucher, error)
	// Order returns ErrNotFound when there is none.
	Order(ctx context.Context, id ID) (Order, error)
	// Counts reads what the audit compares, from one snapshot; ErrNotFound when there is no such voucher.
	Counts(ctx context.Context, voucher ID) (Counts, error)
}

// LabStore is what only a lab run may do.
type LabStore interface {
	// ResetVoucher gives the voucher this initial stock, all of it left, and removes its orders.
	// ErrNotFound when there is no such voucher.
	ResetVoucher(ctx context.Context, voucher ID, stock int) error
	// Orders lists every order of the voucher in every state, by id.
	Orders(ctx context.Context, voucher ID) ([]Order, error)
}

// SellStock is the single number that /sell1 to /sell3 sell from: read, then written back, on purpose.
type SellStock interface {
	// SellStock reads the number; ErrNotFound before the first SetSellStock.
	SellStock(ctx context.Context) (int, error)
	SetSellStock(ctx context.Context, n int) error
}

// Counts is what the database says about one voucher.
type Counts struct {
	Initial  int // initial stock
	Left     int // the stock column
	Orders   int // created and paid
	Users    int // distinct users among those
	InFlight int // pending
}
