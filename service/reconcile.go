package service

import (
	"context"
	"fmt"
	"time"
)

// Defaults of Reconciler.
const (
	// DefaultGrace is the age from which an order in flight is looked into. It needs not exceed the longest
	// transaction: when a slow one comes late, the row that is there decides.
	DefaultGrace   = 4 * time.Second
	reconcileLimit = 500
	// clockSlack is how far Redis's clock may have stepped back between the admission of two orders.
	clockSlack = time.Second
)

// Kinds of findings: what is wrong with one unit, or with the count of units.
const (
	FindAbandoned  = "abandoned"    // admitted, and whoever was to write it is gone: the order is ended and the unit goes back
	FindUnsettled  = "not_settled"  // written, and the gate still counts it in flight: it is told
	FindNotBack    = "not_returned" // ended, and the gate still counts its unit: the unit goes back
	FindUnknown    = "unknown"      // a live order that the gate does not count: it is adopted
	FindOtherOrder = "other_order"  // a live order whose user's unit the gate counts for another order; ends with that order
	FindStock      = "stock"        // the gate's stock is not what the database can still sell: it is set
)

// Finding is one thing that differs between the gate and the database.
type Finding struct {
	Kind    string `json:"kind"`
	Order   ID     `json:"order,omitempty"`
	User    int64  `json:"user,omitempty,string"`
	Voucher ID     `json:"voucher"`
	Text    string `json:"text"`
	Fixed   bool   `json:"fixed"`
}

// Reconciliation is what Reconciler.Voucher found.
type Reconciliation struct {
	Voucher   ID        `json:"voucher"`
	Preheated bool      `json:"preheated"` // without a gate there is nothing to compare
	Findings  []Finding `json:"findings"`
}

// Reconciler compares the gate with the database, which is right, and repairs the gate. Its fields are set before the
// first call; it is safe for concurrent use, also by several processes.
type Reconciler struct {
	Store   LifeStore
	Gate    GateKeeper
	Returns *Returns
	// Queue tells how old the oldest message is; nil: there is no stream.
	Queue interface {
		Depth(ctx context.Context) (QueueDepth, error)
	}
	// Grace is the age from which an order in flight is looked into. Default DefaultGrace.
	Grace time.Duration
}

// Stale ends what a crash left in flight, of all vouchers, and returns what it found and repaired.
func (r *Reconciler) Stale(ctx context.Context) ([]Finding, error) {
	old, err := r.Gate.InFlightBefore(ctx, r.grace(), reconcileLimit)
	if err != nil || len(old) == 0 {
		return nil, err
	}
	found, err := r.judgeInFlight(ctx, old)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if err := r.fix(ctx, &found[i]); err != nil {
			return found[:i], err
		}
	}
	return found, nil
}

// judgeInFlight tells which of the old orders in flight nobody is going to end. Orders that wait in the stream are
// none of them, however long the database has been away.
//
// The orders were read before the queue is: an order that still had its message when they were read is either not
// older than the oldest message, or was finished meanwhile and has a row.
func (r *Reconciler) judgeInFlight(ctx context.Context, old []InFlight) ([]Finding, error) {
	var queue QueueDepth
	if r.Queue != nil {
		var err error
		if queue, err = r.Queue.Depth(ctx); err != nil {
			return nil, err
		}
	}
	ids := make([]ID, len(old))
	for i, f := range old {
		ids[i] = f.Order
	}
	rows, err := r.Store.OrdersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, f := range old {
		row, ok := rows[f.Order]
		switch {
		case ok && live(row.Status):
			found = append(found, finding(FindUnsettled, f.Unit, "it stands in the database as %s since %s", row.Status, stamp(row.CreatedAt)))
		case ok:
			found = append(found, finding(FindNotBack, f.Unit, "it ended as %s at %s", row.Status, stamp(row.UpdatedAt)))
		case queue.Messages == 0 || f.At.Before(queue.OldestAt.Add(-clockSlack)):
			found = append(found, finding(FindAbandoned, f.Unit, "admitted at %s; it has neither a row nor a message", stamp(f.At)))
		}
	}
	return found, nil
}

// fix repairs one unit. Every repair is safe when the finding is out of date by now: rows decide, and units go back by
// order id.
func (r *Reconciler) fix(ctx context.Context, f *Finding) (err error) {
	u := Unit{Order: f.Order, Voucher: f.Voucher, User: f.User}
	switch f.Kind {
	case FindUnsettled:
		err = r.Returns.Gate.Done(ctx, []Unit{u})
	case FindNotBack:
		err = r.giveBack(ctx, u)
	case FindAbandoned:
		_, _, err = r.Returns.End(ctx, u, Failed, "accepted, but the process that was to write it ended")
	case FindUnknown:
		err = r.adopt(ctx, u)
	default:
		return nil
	}
	f.Fixed = err == nil
	return err
}

// giveBack returns an ended order's unit. Due returns go first: the transaction that ended the order noted there
// whether the gate's stock grows with it, and the database may never have had the unit. Only a unit that is held
// without such a note (the gate was made from an older snapshot) grows the stock as a matter of course.
func (r *Reconciler) giveBack(ctx context.Context, u Unit) error {
	ever := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := more(ctx, func() (int, error) { return r.Returns.BackDue(ctx, ever, jobLimit) }); err != nil {
		return err
	}
	return r.Returns.Back(ctx, Back{Unit: u})
}

// adopt makes the gate count a live order. It may be cancelled at the same moment, when the gate does not know it yet
// and giving it back changes nothing; so the row is looked at again afterwards.
func (r *Reconciler) adopt(ctx context.Context, u Unit) error {
	if adopted, err := r.Gate.Adopt(ctx, u); err != nil || !adopted {
		return err
	}
	rows, err := r.Store.OrdersByID(ctx, []ID{u.Order})
	if err != nil {
		return err
	}
	if row, ok := rows[u.Order]; !ok || !live(row.Status) {
		return r.Returns.Back(ctx, Back{Unit: u})
	}
	return nil
}

func (r *Reconciler) grace() time.Duration {
	if r.Grace > 0 {
		return r.Grace
	}
	return DefaultGrace
}

// live tells whether an order in this state occupies stock.
func live(s Status) bool { return s == Created || s == Paid }

func finding(kind string, u Unit, format string, args ...any) Finding {
	return Finding{Kind: kind, Order: u.Order, User: u.User, Voucher: u.Voucher, Text: fmt.Sprintf(format, args...)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
