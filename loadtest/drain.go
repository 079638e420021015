package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	drainPoll  = 25 * time.Millisecond
	drainLimit = 20 * time.Second
)

// drained is what a row left behind.
type drained struct {
	audit audit // the last count
	spans []Span
	// written is how long it took until the service counted nothing in flight.
	written time.Duration
}

// drain waits until nothing is in flight any more: the service says so, two counts in a row are equal, and every lock
// ownership of a living server has ended. A row that does not drain in time is an error.
func (a *api) drain(ctx context.Context, voucher string) (d drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	var before audit
	began := time.Now()
	for first := true; ; first = false {
		d.audit, d.spans, err = a.look(ctx, voucher)
		if d.written == 0 && err == nil && d.audit.InFlight == 0 {
			d.written = time.Since(began)
		}
		quiet := err == nil && d.audit.InFlight == 0 && !slices.ContainsFunc(d.spans, Span.open)
		if quiet && !first && d.audit == before {
			return d, nil
		}
		before = d.audit
		// An error may be a server's that has just died, which is noticed in a moment.
		if pause(ctx, drainPoll) != nil {
			return d, fmt.Errorf("the row did not drain: %w", cmp.Or(err, ctx.Err()))
		}
	}
}

func (a *api) look(ctx context.Context, voucher string) (audit, []Span, error) {
	now, err := a.audit(ctx, voucher)
	if err != nil {
		return now, nil, err
	}
	spans, err := a.spans(ctx, voucher)
	return now, spans, err
}

// stuck asks with a fresh user, for longer than 2 TTLs (2 s without a TTL), whether the lock can be had. Busy to the
// end means stuck when there is stock left, nobody holds the lock, and nobody got it meanwhile: not even the probe, which
// a lock without re-entry can let wait for itself.
func (a *api) stuck(ctx context.Context, p Plan, voucher string, before []Span) (bool, error) {
	budget := 2*time.Second + drainPoll
	if p.TTL > 0 {
		budget = 2*p.TTL + drainPoll
	}
	for end := time.Now().Add(budget); ; {
		isBusy, err := a.probe(ctx, p, voucher, end)
		if err != nil || !isBusy {
			return false, err
		}
		after, err := a.drain(ctx, voucher)
		if err != nil || len(after.spans) > len(before) {
			return false, err
		}
		if time.Now().After(end) {
			return true, nil
		}
		if err := pause(ctx, drainPoll); err != nil {
			return false, err
		}
	}
}

// probe places one order. No answer until a while after the end means that it waits for the lock, too.
func (a *api) probe(ctx context.Context, p Plan, voucher string, end time.Time) (isBusy bool, err error) {
	try, cancel := context.WithDeadline(ctx, end.Add(p.Work+time.Second))
	defer cancel()
	got := a.order(try, voucher, probeUser(p))
	if got == unknown && try.Err() == nil {
		return false, fmt.Errorf("the probe for a stuck lock got no answer")
	}
	return got == busy || got == unknown, ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
