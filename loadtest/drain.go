package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	drainPoll  = 25 * time.Millisecond
	drainLimit = 20 * time.Second
)

// drain waits until nothing is in flight any more: the service says so, two counts in a row are equal, and every lock
// ownership of a living server has ended. It returns the last count and the ownerships. A row that does not drain in
// time is an error.
func (a *api) drain(ctx context.Context, voucher string) (audit, []Span, error) {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	var before audit
	for first := true; ; first = false {
		now, err := a.audit(ctx, voucher)
		if err != nil {
			return now, nil, err
		}
		spans, err := a.spans(ctx, voucher)
		if err != nil {
			return now, nil, err
		}
		if !first && now == before && now.InFlight == 0 && !slices.ContainsFunc(spans, Span.open) {
			return now, spans, nil
		}
		before = now
		if err := pause(ctx, drainPoll); err != nil {
			return now, spans, fmt.Errorf("the row did not drain: %w", err)
		}
	}
}

// stuck asks with a fresh user, for longer than 2 TTLs (2 s without a TTL), whether the lock can be had. Busy to the
// end means stuck when there is stock left, nobody holds the lock, and nobody (not even the probe, which a lock without
// re-entry can let wait for itself) got it meanwhile.
func (a *api) stuck(ctx context.Context, p Plan, voucher string, before []Span) (bool, error) {
	budget := 2*time.Second + drainPoll
	if p.TTL > 0 {
		budget = 2*p.TTL + drainPoll
	}
	ctx, cancel := context.WithTimeout(ctx, budget+p.Work+graceTime)
	defer cancel()
	for end := time.Now().Add(budget); ; {
		try, done := context.WithDeadline(ctx, end.Add(time.Second))
		got := a.order(try, voucher, probeUser(p))
		waited := try.Err() != nil
		done()
		// No answer in time means that the probe still waits for the lock.
		if got != busy && (got != unknown || !waited) {
			return false, ctx.Err()
		}
		if time.Now().After(end) {
			break
		}
		if err := pause(ctx, drainPoll); err != nil {
			return false, err
		}
	}
	_, after, err := a.drain(ctx, voucher)
	return err == nil && len(after) == len(before), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
