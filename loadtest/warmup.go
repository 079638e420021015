package loadtest

import (
	"context"
	"fmt"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// warmUp sells a voucher of its own for the plan's warm-up time, so that connections, caches and the servers' runtime are
// in the state of a sale that goes on. Nothing of it is counted; what it began has ended when it returns.
func (m *measurement) warmUp(ctx context.Context) error {
	if m.plan.Warmup <= 0 {
		return nil
	}
	m.tell(PhaseWarmup, nil)
	voucher, err := m.api.createVoucher(ctx, m.plan)
	if err != nil {
		return fmt.Errorf("warm-up: no voucher: %w", err)
	}
	t := m.targeter(voucher)
	t.again = func() []click { return clickPlan(m.plan) }
	closed := m.plan
	closed.Rate = 0
	enough, cancel := context.WithTimeout(ctx, m.plan.Warmup)
	defer cancel()
	attack(enough, closed, t, func(*vegeta.Result) {}, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := m.api.drain(ctx, voucher); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}
