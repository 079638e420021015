package service

import (
	"context"
	"errors"
	"time"
)

// The admission side of an order: what the gate and stream paths need of Redis. repository implements it.
//
// Words: the gate is the admission state of one voucher in Redis; a unit is one piece of stock; an order is in
// flight when it was admitted and its end is not known to the gate yet.
//
// Who ends an order in flight is decided in the database, by who inserts the row with the order's id: the writer
// (created), the canceller (cancelled) or the reconciler (failed). Whoever finds a row there follows that row.

// ErrNotPreheated: the gate does not know the voucher. The caller preheats it from the database and asks again.
var ErrNotPreheated = errors.New("the voucher is not preheated")

// MaxAdmit is the greatest number of requests one Admit call carries.
const MaxAdmit = 256

// Unit names one unit and the order that holds it.
type Unit struct {
	Order   ID
	Voucher ID
	User    int64
}

// Ask is one user's request for a unit; Order is the id its order will have. A repeated Ask with the same id and
// user gets the first one's answer, so it may be sent again when a reply was lost.
type Ask struct {
	Order ID
	User  int64
}

// Admission is the answer to one Ask. Err is nil (admitted), ErrSoldOut, ErrAlreadyOrdered, ErrNotStarted,
// ErrEnded or ErrNotPreheated. Existing is the order that already holds the user's unit, with ErrAlreadyOrdered.
type Admission struct {
	Err      error
	Existing ID
}

// Admitter takes units, settles them and gives them back. All methods are safe for concurrent use.
type Admitter interface {
	// Admit answers each of at most MaxAdmit asks for one voucher, in their order. With enqueue the same script
	// also appends each admitted order to the stream. An error means that the outcome is unknown (no reply, even
	// after the client's own retries): any of the asks may have been admitted, or still be.
	Admit(ctx context.Context, voucher ID, enqueue bool, asks []Ask) ([]Admission, error)
	// Done tells the gate that the orders stand in the database. Repeated: nothing changes.
	Done(ctx context.Context, units []Unit) error
	// Return gives units back, each exactly once however often it is called, and tells which it gave back now.
	Return(ctx context.Context, backs []Back) ([]bool, error)
}

// Back is one unit to be given back.
type Back struct {
	Unit
	// NoRestock leaves the gate's stock as it is, because the database had no unit for the order (the gate's
	// stock was too high by it).
	NoRestock bool
}

// Preheat is a voucher's state in the database, from which a missing gate is made.
type Preheat struct {
	Voucher ID
	// Capacity is stock left plus live orders (created and paid), read in one snapshot with Live. Orders that
	// are written or cancelled meanwhile move units between the two, so it does not go stale.
	Capacity int
	Live     []Unit
	BeginAt  time.Time
	EndAt    time.Time
}

// GateCounters is the gate's state. Admitted = Holders + Returned at any moment, and
// Admitted = live orders + InFlight + Returned when no order is between its commit and Done.
type GateCounters struct {
	Preheated bool
	Stock     int // units that can still be admitted
	Admitted  int // units taken since the gate was made; live orders at that time count as taken
	Returned  int // units given back since
	InFlight  int // admitted, end unknown
	Holders   int // users that hold a unit
	BeginAt   time.Time
	EndAt     time.Time
}

// InFlight is an order in flight, as any process can look it up.
type InFlight struct {
	Unit
	At time.Time // when it was admitted, by Redis's clock
}

// GateKeeper makes, inspects and repairs gates.
type GateKeeper interface {
	// Preheat makes the gate when there is none and tells whether it did; stock is Capacity less live orders
	// less orders in flight. When there is one, only the window is refreshed.
	Preheat(ctx context.Context, p Preheat) (made bool, err error)
	Counters(ctx context.Context, voucher ID) (GateCounters, error)
	// FindInFlight looks an order up by its id alone; false: it is not in flight.
	FindInFlight(ctx context.Context, order ID) (InFlight, bool, error)
	// InFlightBefore lists orders in flight that were admitted before Redis's now - age, of all vouchers,
	// at most limit, oldest not guaranteed first.
	InFlightBefore(ctx context.Context, age time.Duration, limit int) ([]InFlight, error)
	// InFlightOf lists the orders in flight of one voucher.
	InFlightOf(ctx context.Context, voucher ID) ([]InFlight, error)
	// Holders lists which order holds each user's unit. Not a snapshot.
	Holders(ctx context.Context, voucher ID) (map[int64]ID, error)
	// Adopt makes the gate count a live order of the database that it does not know: a holder more, one unit
	// less. False: the user holds a unit already, or there is no gate. The caller looks at the row again
	// afterwards and calls Return when it is not live any more, because it may have been cancelled meanwhile.
	Adopt(ctx context.Context, u Unit) (bool, error)
	// SetStock sets the gate's stock to capacity less holders, provided the counters are still as in seen;
	// false: they moved, read everything again.
	SetStock(ctx context.Context, voucher ID, seen GateCounters, capacity int) (bool, error)
	// Forget removes all of a voucher's admission state, its queued orders included (lab reset). An order that
	// a worker has already read is not stopped by it.
	Forget(ctx context.Context, voucher ID) error
	// WatchReturns calls returned for every voucher whose stock grew, and state when the subscription comes up
	// (true) or breaks (false), both from one goroutine, until ctx ends. Messages sent while it is down are lost.
	WatchReturns(ctx context.Context, state func(up bool), returned func(voucher ID)) error
}

// Entry is one message of the order stream.
type Entry struct {
	ID         string // the message's id in the stream
	Partition  int
	InFlight          // zero when Malformed
	Deliveries int64  // how often it was handed to a worker, this time included
	Malformed  string // why the message can't be read as an order; empty: it can
}

// Queue is the order stream with its consumer group. A Queue value is one consumer with a name of its own.
// Read, Claim and Own may be called by one goroutine per partition; the rest is safe for concurrent use.
type Queue interface {
	Partitions() int
	// Read waits up to block for new messages (block 0: does not wait) and returns at most count; none is no
	// error. A missing group or stream is made anew, from the first message on.
	Read(ctx context.Context, partition, count int, block time.Duration) ([]Entry, error)
	// Claim takes over messages that other consumers have left unacknowledged for idle.
	Claim(ctx context.Context, partition, count int, idle time.Duration) ([]Entry, error)
	// Own returns messages already delivered to this consumer and not acknowledged, those after the message id
	// given ("0": from the first). It never blocks.
	Own(ctx context.Context, partition, count int, after string) ([]Entry, error)
	// Finish acknowledges and deletes messages whose orders stand in the database, and settles the orders (Done).
	Finish(ctx context.Context, partition int, entries []Entry) error
	// Drop acknowledges and deletes messages, without touching the orders: their units were given back.
	Drop(ctx context.Context, partition int, entries []Entry) error
	// Bury moves a message to the dead letters with the reason, once.
	Bury(ctx context.Context, e Entry, reason string) error
	// Depth counts unfinished messages and tells the age of the oldest, over all partitions.
	Depth(ctx context.Context) (QueueDepth, error)
	// Leave removes this consumer from the groups it joined, unless it has unacknowledged messages. It also
	// removes other consumers that were idle for the time given and have none.
	Leave(ctx context.Context, idle time.Duration) error
}

// QueueDepth is the state of the order stream.
type QueueDepth struct {
	Messages int64         // written to the stream and not finished
	Oldest   time.Duration // age of the oldest of those by Redis's clock; 0 when there is none
	OldestAt time.Time     // when that one was queued, by Redis's clock; zero when there is none
	Dead     int64         // dead letters
}

// DeadLetter is a message that could not be written, with the reason.
type DeadLetter struct {
	ID        string // in the dead-letter stream
	Partition int
	InFlight  // zero when the message was malformed
	Reason    string
	Raw       map[string]string // the message's fields as they were
}

// DeadLetters lets `replay` read and remove dead letters. To replay is to admit the user again under a new order
// id (the old id's row is failed), and then to remove the letter.
type DeadLetters interface {
	// ListDead returns at most count letters of the partition after the id given ("": from the first).
	ListDead(ctx context.Context, partition, count int, after string) ([]DeadLetter, error)
	RemoveDead(ctx context.Context, partition int, ids ...string) error
}
