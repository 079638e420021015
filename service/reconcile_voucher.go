package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// reconcilePause lies between two looks: what is only on its way is gone at the second.
	reconcilePause = 250 * time.Millisecond
	// setStockTries bounds how often the stock is compared anew because the gate moved under the comparison.
	setStockTries = 20
)

// Voucher explains every unit that differs between a voucher's gate and the database, and with fix repairs it. It may
// run during the sale: what is only on its way between the two is told apart by looking twice.
func (r *Reconciler) Voucher(ctx context.Context, voucher ID, fix bool) (Reconciliation, error) {
	out := Reconciliation{Voucher: voucher, Findings: []Finding{}}
	gate, err := r.Gate.Counters(ctx, voucher)
	if err != nil || !gate.Preheated {
		return out, err
	}
	out.Preheated = true
	units, err := r.lastingUnits(ctx, voucher)
	if err != nil {
		return out, err
	}
	for _, f := range units {
		if fix {
			if err := r.fix(ctx, &f); err != nil {
				return out, err
			}
		}
		out.Findings = append(out.Findings, f)
	}
	stock, err := r.stock(ctx, voucher, fix)
	if stock != nil {
		out.Findings = append(out.Findings, *stock)
	}
	return out, err
}

// lastingUnits are the findings about single units that two looks have in common.
func (r *Reconciler) lastingUnits(ctx context.Context, voucher ID) ([]Finding, error) {
	first, err := r.units(ctx, voucher)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	if !sleep(ctx, reconcilePause) {
		return nil, ctx.Err()
	}
	second, err := r.units(ctx, voucher)
	if err != nil {
		return nil, err
	}
	type key struct {
		kind  string
		order ID
	}
	before := map[key]bool{}
	for _, f := range first {
		before[key{f.Kind, f.Order}] = true
	}
	var lasting []Finding
	for _, f := range second {
		if before[key{f.Kind, f.Order}] {
			lasting = append(lasting, f)
		}
	}
	return lasting, nil
}

// units compares once. The gate is read before the database, so an order that was settled when the gate was read has
// a row when the database is.
func (r *Reconciler) units(ctx context.Context, voucher ID) ([]Finding, error) {
	holders, err := r.Gate.Holders(ctx, voucher)
	if err != nil {
		return nil, err
	}
	flying, err := r.Gate.InFlightOf(ctx, voucher)
	if err != nil {
		return nil, err
	}
	old, err := r.oldOf(ctx, voucher)
	if err != nil {
		return nil, err
	}
	found, err := r.judgeInFlight(ctx, old)
	if err != nil {
		return nil, err
	}
	state, err := r.Store.GateState(ctx, voucher)
	if err != nil {
		return nil, err
	}
	known := map[ID]bool{} // orders that are in flight or live
	for _, f := range flying {
		known[f.Order] = true
	}
	for _, u := range state.Live {
		known[u.Order] = true
		switch held, ok := holders[u.User]; {
		case !ok:
			found = append(found, finding(FindUnknown, u, "a live order that the gate does not count"))
		case held != u.Order:
			found = append(found, finding(FindOtherOrder, u, "the gate counts the user's unit for order %s", held))
		}
	}
	lost, err := r.heldByNobody(ctx, voucher, holders, known)
	return append(found, lost...), err
}

// oldOf lists the voucher's orders in flight that are too old, by Redis's clock, to be merely on their way.
func (r *Reconciler) oldOf(ctx context.Context, voucher ID) ([]InFlight, error) {
	old, err := r.Gate.InFlightBefore(ctx, r.grace(), math.MaxInt)
	return slices.DeleteFunc(old, func(f InFlight) bool { return f.Voucher != voucher }), err
}

// heldByNobody are units that the gate counts for orders that are neither live nor in flight.
func (r *Reconciler) heldByNobody(ctx context.Context, voucher ID, holders map[int64]ID, known map[ID]bool) ([]Finding, error) {
	var ids []ID
	users := map[ID]int64{}
	for user, order := range holders {
		if !known[order] {
			ids = append(ids, order)
			users[order] = user
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := r.Store.OrdersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, id := range ids {
		u := Unit{Order: id, Voucher: voucher, User: users[id]}
		switch row, ok := rows[id]; {
		case !ok:
			found = append(found, finding(FindAbandoned, u, "the gate counts a unit for it; it has no row and is not in flight"))
		case !live(row.Status):
			found = append(found, finding(FindNotBack, u, "it ended as %s at %s", row.Status, stamp(row.UpdatedAt)))
		}
	}
	return found, nil
}

// stock compares the gate's stock with what the database can still sell. Both sides move during a sale, but each as a
// whole: the gate's counters are read at one moment, and orders that are written or cancelled do not change the
// capacity. So the comparison is exact, also under load.
func (r *Reconciler) stock(ctx context.Context, voucher ID, fix bool) (*Finding, error) {
	for range setStockTries {
		gate, err := r.Gate.Counters(ctx, voucher)
		if err != nil || !gate.Preheated {
			return nil, err
		}
		state, err := r.Store.GateState(ctx, voucher)
		if err != nil {
			return nil, err
		}
		want := max(0, state.Capacity-gate.Holders)
		if gate.Stock == want {
			return nil, nil
		}
		f := &Finding{Kind: FindStock, Voucher: voucher,
			Text: fmt.Sprintf("the gate has %d left; the database has %d, of which %d are held: %d expected",
				gate.Stock, state.Capacity, gate.Holders, want)}
		if !fix {
			return f, nil
		}
		if f.Fixed, err = r.Gate.SetStock(ctx, voucher, gate, state.Capacity); err != nil || f.Fixed {
			return f, err
		}
	}
	return nil, fmt.Errorf("%w: the gate of voucher %s moves too fast to set its stock", ErrBusy, voucher)
}
