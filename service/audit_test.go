package service

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		counts Counts
		want   Audit
	}{
		"in order": {
			Counts{Initial: 10, Left: 4, Orders: 6, Users: 6, InFlight: 1},
			Audit{InitialStock: 10, StockLeft: 4, Orders: 6, Users: 6, InFlight: 1},
		},
		// S-10: the stock ends positive, and still 2,500 were sold that were not there.
		"oversold with stock left": {
			Counts{Initial: 500, Left: 120, Orders: 3000, Users: 3000},
			Audit{InitialStock: 500, StockLeft: 120, Orders: 3000, Users: 3000, Oversold: 2500, Drift: -2620},
		},
		// S-70: a counter below zero alone is no oversell.
		"negative stock": {
			Counts{Initial: 10, Left: -90, Orders: 10, Users: 10},
			Audit{InitialStock: 10, StockLeft: -90, Orders: 10, Users: 10, Drift: 90},
		},
		"duplicates": {
			Counts{Initial: 10, Left: 0, Orders: 10, Users: 7},
			Audit{InitialStock: 10, Orders: 10, Users: 7, Duplicates: 3},
		},
		"units without orders": {
			Counts{Initial: 10, Left: 2, Orders: 5, Users: 5},
			Audit{InitialStock: 10, StockLeft: 2, Orders: 5, Users: 5, Drift: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.VoucherID = 7
			require.Equal(t, c.want, c.counts.audit(7))
		})
	}
}
