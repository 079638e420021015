package service

import "context"

// Audit compares a voucher's orders with its stock. It judges by the rows alone, so it also works on a deployed service.
type Audit struct {
	VoucherID    ID  `json:"voucher_id"`
	InitialStock int `json:"initial_stock"`
	StockLeft    int `json:"stock_left"`
	Orders       int `json:"orders"` // created and paid
	Users        int `json:"users"`  // distinct among those
	// Oversold is orders beyond the initial stock, never judged by the stock column, which stays positive.
	Oversold   int `json:"oversold"`
	Duplicates int `json:"duplicates"` // orders beyond one per user
	// Drift is initial stock - stock left - orders: not 0 when an update was lost.
	Drift    int `json:"drift"`
	InFlight int `json:"in_flight"` // accepted and not yet written
}

// Audit audits one voucher; ErrNotFound when there is none.
func (s *Vouchers) Audit(ctx context.Context, voucher ID) (Audit, error) {
	c, err := s.Catalogue.Counts(ctx, voucher)
	if err != nil {
		return Audit{}, err
	}
	return c.audit(voucher), nil
}

func (c Counts) audit(voucher ID) Audit {
	return Audit{
		VoucherID: voucher, InitialStock: c.Initial, StockLeft: c.Left, Orders: c.Orders, Users: c.Users,
		Oversold: max(0, c.Orders-c.Initial), Duplicates: c.Orders - c.Users,
		Drift: c.Initial - c.Left - c.Orders, InFlight: c.InFlight,
	}
}
