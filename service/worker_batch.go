package service

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// hopeless is how many times MaxDeliveries an order may have been delivered before it is not even tried: it must have
// taken the process with it each time. An outage of the database costs at most one delivery for each process.
const hopeless = 20

// errStopping: the worker was told to stop before the database took its batch.
var errStopping = errors.New("stopping; the orders in hand stay unacknowledged")

// process writes the entries and settles them. Suspicious ones go alone and last, so that what is wrong with them
// stops nobody else. An error means that the world is unwell, not an order; everything is still unacknowledged.
func (l *lane) process(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	l.opt.Holds.Reach(HoldWorkerRead)
	var batch, alone []Entry
	for _, e := range entries {
		switch {
		case e.Malformed != "":
			if err := l.bury(ctx, e, "malformed: "+e.Malformed); err != nil {
				return err
			}
		case e.Deliveries > hopeless*l.opt.MaxDeliveries:
			if err := l.bury(ctx, e, fmt.Sprintf("delivered %d times and never finished", e.Deliveries)); err != nil {
				return err
			}
		case e.Deliveries > l.opt.MaxDeliveries || l.failures[e.ID] > 0:
			alone = append(alone, e)
		default:
			batch = append(batch, e)
		}
	}
	if err := l.write(ctx, batch); err != nil {
		return err
	}
	for _, e := range alone {
		if err := l.write(ctx, []Entry{e}); err != nil {
			return err
		}
	}
	return nil
}

// write writes the entries in one transaction. While the database is away it keeps them in hand and waits: reading
// them again would count as a delivery. When the write fails although the database answers, one of the orders is the
// reason, and the batch is halved until that order stands alone.
func (l *lane) write(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	results, err := l.transact(ctx, entries)
	for err != nil && l.databaseAway(ctx, err) {
		l.opt.Log.Warn("accepted orders wait for the database", "orders", len(entries), "error", err)
		if !l.pause(ctx) {
			return errStopping
		}
		results, err = l.transact(ctx, entries)
	}
	switch {
	case err == nil:
		return l.settle(ctx, entries, results)
	case len(entries) == 1:
		return l.failedAlone(ctx, entries[0], err)
	}
	half := len(entries) / 2
	if err := l.write(ctx, entries[:half]); err != nil {
		return err
	}
	return l.write(ctx, entries[half:])
}

// transact runs the batch's transaction. It goes on when the worker is told to stop: that is what draining means.
func (l *lane) transact(ctx context.Context, entries []Entry) (_ []WriteResult, err error) {
	if l.opt.Work > 0 {
		sleep(context.WithoutCancel(ctx), l.opt.Work)
	}
	l.opt.Holds.Reach(HoldCritical)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.WriteWithin)
	defer cancel()
	orders := make([]InFlight, len(entries))
	for i, e := range entries {
		orders[i] = e.InFlight
	}
	defer func() { // an order that makes the store panic is a poisonous order, not the end of the process
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while writing: %v", cause)
		}
	}()
	results, err := l.writer.WriteBatch(ctx, orders, l.opt.Now(), func() { l.opt.Holds.Reach(HoldCommit) })
	if err == nil && len(results) != len(entries) {
		err = fmt.Errorf("%d results for %d orders", len(results), len(entries))
	}
	return results, err
}

// databaseAway tells whether the failure is the database's and not an order's: it is busy or slow, or does not even
// answer a simple question.
func (l *lane) databaseAway(ctx context.Context, cause error) bool {
	if errors.Is(cause, ErrStoreBusy) || errors.Is(cause, context.DeadlineExceeded) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := l.store.Order(ctx, 1)
	return err != nil && !errors.Is(err, ErrNotFound)
}

// failedAlone counts a failure against an order. It stays unacknowledged, to be tried again at the next sweep, until
// it has had its deliveries.
func (l *lane) failedAlone(ctx context.Context, e Entry, cause error) error {
	l.failures[e.ID]++
	tries := max(e.Deliveries, l.failures[e.ID])
	l.opt.Log.Warn("an order can't be written", "order", e.Order, "voucher", e.Voucher, "tries", tries, "error", cause)
	if tries < l.opt.MaxDeliveries {
		return nil
	}
	return l.bury(ctx, e, fmt.Sprintf("not written in %d tries: %v", tries, cause))
}

// settle tells the gate what became of each order and removes the messages. It may fail half way: then the entries are
// delivered again, the results are Repeated, and the rest is done.
func (l *lane) settle(ctx context.Context, entries []Entry, results []WriteResult) error {
	l.opt.Holds.Reach(HoldWorkerCommitted)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	var finish, drop []Entry
	var due []Back
	for i, e := range entries {
		delete(l.failures, e.ID)
		back, backs := results[i].Back(e.Unit)
		switch o := results[i].Outcome; {
		case o == Wrote || o == Repeated:
			finish = append(finish, e)
		case backs:
			drop = append(drop, e)
			due = append(due, back)
		default:
			if err := l.bury(ctx, e, "refused by the database: "+string(o)); err != nil {
				return err
			}
		}
	}
	if err := l.queue.Finish(ctx, l.partition, finish); err != nil {
		return err
	}
	if len(due) > 0 {
		if err := l.returns.Back(ctx, due...); err != nil {
			return err
		}
		l.opt.Holds.Reach(HoldWorkerReturned)
	}
	if err := l.queue.Drop(ctx, l.partition, drop); err != nil {
		return err
	}
	l.opt.Holds.Reach(HoldWorkerAcked)
	return nil
}

// bury moves a message to the dead letters, and ends its order. In this sequence a crash in between keeps the letter
// and its reason; the order, which then has neither a row nor a message, is ended by the reconcile job.
func (l *lane) bury(ctx context.Context, e Entry, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	l.opt.Log.Error("an order becomes a dead letter", "message", e.ID, "order", e.Order, "voucher", e.Voucher, "reason", reason)
	if err := l.queue.Bury(ctx, e, reason); err != nil {
		return err
	}
	delete(l.failures, e.ID)
	l.opt.Holds.Reach(HoldWorkerBuried)
	if e.Malformed != "" {
		return nil // there is no order to end
	}
	row, ended, err := l.returns.End(ctx, e.Unit, Failed, "dead letter")
	if err == nil && !ended && (row.UserID != e.User || row.VoucherID != e.Voucher) {
		// The id is another order's, so no row can say that this one ended; its unit goes back all the same.
		_, err = l.returns.Gate.Return(ctx, []Back{{Unit: e.Unit}})
	}
	if err != nil {
		l.opt.Log.Warn("a dead letter's order is left to the reconcile job", "order", e.Order, "error", err)
	}
	return nil
}
