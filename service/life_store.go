package service

import (
	"context"
	"time"
)

// The database side of an order's whole life. repository implements it. Every method is one transaction, run
// again a bounded number of times when the database refuses for want of a lock.

// WriteOutcome is what became of one order of a batch.
type WriteOutcome string

// The outcomes of WriteBatch. What the worker does next stands behind each; "give back" is Admitter.Return with
// WriteResult.Back, then LifeStore.ClearReturns, then Queue.Drop.
const (
	Wrote          WriteOutcome = "wrote"            // the row is new and took a unit: Finish
	Repeated       WriteOutcome = "repeated"         // a live row of the same id, user and voucher was there: Finish
	AlreadyEnded   WriteOutcome = "ended"            // a cancelled or failed row was there: give back
	RefusedSoldOut WriteOutcome = "refused_sold_out" // no stock left, written as failed: give back (NoRestock)
	RefusedAlready WriteOutcome = "refused_already"  // the user has another live order, written as failed: give back
	Foreign        WriteOutcome = "foreign"          // the id belongs to another user's or voucher's row: Bury
	NoVoucher      WriteOutcome = "no_voucher"       // there is no such voucher: Bury
)

// WriteResult is what became of one order of a batch.
type WriteResult struct {
	Outcome WriteOutcome
	// NoRestock is Back.NoRestock of an order that goes back.
	NoRestock bool
}

// Back is the unit to be given back; false: the outcome gives none back.
func (r WriteResult) Back(u Unit) (Back, bool) {
	switch r.Outcome {
	case AlreadyEnded, RefusedSoldOut, RefusedAlready:
		return Back{Unit: u, NoRestock: r.NoRestock}, true
	}
	return Back{}, false
}

// BatchWriter writes accepted orders.
type BatchWriter interface {
	// WriteBatch writes the orders in one transaction: all rows and the stock updates, or nothing. The result has
	// one entry per order, in their order; an id that occurs twice is Repeated the second time. An error leaves
	// the database as it was, or (a lost answer to COMMIT) as if it had succeeded; calling it again tells which.
	// beforeCommit, when it is not nil, is called inside the transaction after the last statement (hold points).
	WriteBatch(ctx context.Context, orders []InFlight, now time.Time, beforeCommit func()) ([]WriteResult, error)
}

// Move is one step of an order's life: a compare-and-set on its state.
type Move struct {
	Order    ID
	User     int64 // the owner; 0: whoever it is (the sweep)
	From     Status
	To       Status
	GiveBack bool   // the unit goes back: stock + 1, the user's claim ends and a due return is recorded
	Reason   string // why, for cancelled orders; at most 100 characters
	At       time.Time
}

// DueReturn is a unit that still has to go back to the gate. It is recorded in the transaction that ended the
// order and removed when the gate has it back, so that a crash in between loses nothing.
type DueReturn struct {
	Back
	At time.Time // when the order ended
}

// LifeStore is what an order's life after its placing needs of the database.
type LifeStore interface {
	// Order returns ErrNotFound when there is no row, tombstones included.
	Order(ctx context.Context, id ID) (Order, error)
	// OrdersByID returns the rows that exist.
	OrdersByID(ctx context.Context, ids []ID) (map[ID]Order, error)
	// MoveOrder returns the order as it is afterwards. ErrNotFound, ErrForbidden for another user's order, and
	// ErrInvalidState (with the order as it is) when it was not in the state From.
	MoveOrder(ctx context.Context, m Move) (Order, error)
	// Tombstone inserts a row without stock for an order in flight, with the status cancelled or failed and the
	// reason (at most 100 characters), and records the due return. False: a row was there first; it is returned
	// and decides.
	Tombstone(ctx context.Context, u Unit, status Status, reason string, at time.Time) (row Order, inserted bool, err error)
	// UnpaidOrders lists created orders from before the time given, oldest first.
	UnpaidOrders(ctx context.Context, before time.Time, limit int) ([]Order, error)
	// DueReturns lists units to be given back whose orders ended before the time given, oldest first.
	DueReturns(ctx context.Context, before time.Time, limit int) ([]DueReturn, error)
	// ClearReturns removes due returns once the gate has the units back.
	ClearReturns(ctx context.Context, orders []ID) error
	// GateState reads what Preheat and reconcile compare with the gate, in one snapshot. ErrNotFound.
	GateState(ctx context.Context, voucher ID) (Preheat, error)
}

// IdempotencyClaim is a stored Idempotency-Key.
type IdempotencyClaim struct {
	User int64
	Key  string
	// RequestHash names the request (method, path and body) that the key was first used with.
	RequestHash string
	// Order is the id that the key's order has or will have: whoever takes an abandoned key over places the
	// order under the same id.
	Order   ID
	Attempt int       // grows with each take-over; Settle and Abandon by an older attempt change nothing
	Status  int       // HTTP status of the stored answer; 0: in progress
	Body    []byte    // the stored answer
	At      time.Time // when the present attempt began
}

// IdempotencyStore keeps Idempotency-Keys. A key belongs to its user.
type IdempotencyStore interface {
	// ClaimKey stores the key when it is new, or takes it over when its attempt began before stale and has no
	// answer; then ours is true and the caller does the work. Otherwise it returns the claim as it is: the
	// caller compares RequestHash (ErrInvalid when it differs) and gives the stored answer or waits.
	ClaimKey(ctx context.Context, c IdempotencyClaim, stale time.Time) (stored IdempotencyClaim, ours bool, err error)
	// SettleKey stores a definite answer.
	SettleKey(ctx context.Context, c IdempotencyClaim) error
	// AbandonKey forgets the key, after an answer that is not definite.
	AbandonKey(ctx context.Context, c IdempotencyClaim) error
	// ForgetKeys removes keys from before the time given and tells how many.
	ForgetKeys(ctx context.Context, before time.Time) (int64, error)
}
