package service

import "context"

// Audit compares a voucher's orders with its stock, and with the gate where there is one. It judges by the rows and
// counters alone, so it also works on a deployed service.
type Audit struct {
	VoucherID    ID  `json:"voucher_id"`
	InitialStock int `json:"initial_stock"`
	StockLeft    int `json:"stock_left"`
	Orders       int `json:"orders"` // created and paid
	Users        int `json:"users"`  // distinct among those
	// Oversold is orders beyond the initial stock, never judged by the stock column, which stays positive.
	Oversold   int `json:"oversold"`
	Duplicates int `json:"duplicates"` // orders beyond one per user
	// Drift is initial stock - stock left - orders, not 0 when an update was lost; when that is 0, the gate's drift.
	Drift    int `json:"drift"`
	InFlight int `json:"in_flight"` // accepted and not yet written
	// Gate is absent when the voucher was never preheated.
	Gate *GateAudit `json:"gate,omitempty"`
}

// GateAudit is the gate's side of an audit. While orders are in flight it is approximate: an order between its COMMIT
// and the gate's learning of it counts twice.
type GateAudit struct {
	Stock    int `json:"stock"`    // units that can still be admitted
	Admitted int `json:"admitted"` // units taken; live orders at the time of the preheat count as taken
	Returned int `json:"returned"` // units given back
	InFlight int `json:"in_flight"`
	// Drift is admitted - orders - in flight - returned; when that is 0, what the gate's stock is short of what the
	// database can still sell.
	Drift int `json:"drift"`
}

// auditTries bounds how often an audit is read again because orders moved between its two readings.
const auditTries = 5

// Audit audits one voucher; ErrNotFound when there is none.
func (s *Vouchers) Audit(ctx context.Context, voucher ID) (Audit, error) {
	for try := 1; ; try++ {
		before, err := s.gateCounters(ctx, voucher)
		if err != nil {
			return Audit{}, err
		}
		c, err := s.Catalogue.Counts(ctx, voucher)
		if err != nil {
			return Audit{}, err
		}
		after, err := s.gateCounters(ctx, voucher)
		if err != nil {
			return Audit{}, err
		}
		if before == after || try == auditTries {
			return c.audit(voucher).withGate(after), nil
		}
	}
}

func (s *Vouchers) gateCounters(ctx context.Context, voucher ID) (GateCounters, error) {
	if s.Gate == nil {
		return GateCounters{}, nil
	}
	return s.Gate.Counters(ctx, voucher)
}

func (a Audit) withGate(g GateCounters) Audit {
	if !g.Preheated {
		return a
	}
	a.InFlight += g.InFlight
	drift := g.Admitted - a.Orders - g.InFlight - g.Returned
	if drift == 0 {
		drift = max(0, a.StockLeft+a.Orders-g.Holders) - g.Stock
	}
	a.Gate = &GateAudit{Stock: g.Stock, Admitted: g.Admitted, Returned: g.Returned, InFlight: g.InFlight, Drift: drift}
	if a.Drift == 0 {
		a.Drift = drift
	}
	return a
}

func (c Counts) audit(voucher ID) Audit {
	return Audit{
		VoucherID: voucher, InitialStock: c.Initial, StockLeft: c.Left, Orders: c.Orders, Users: c.Users,
		Oversold: max(0, c.Orders-c.Initial), Duplicates: c.Orders - c.Users,
		Drift: c.Initial - c.Left - c.Orders, InFlight: c.InFlight,
	}
}
