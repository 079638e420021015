package repository

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// Orders written per second, by orders per transaction and engine. One writer.
func BenchmarkWriteBatch(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": backendtest.SQLite, "mariadb": backendtest.MariaDB} {
		for _, size := range []int{1, 64, 200, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				s := newBench(b, dsn(b), Options{}).Store
				voucher(b, s, 1, 0)
				runSQL(b, s, "UPDATE stock SET stock = 1000000000 WHERE voucher_id = 1")
				orders := make([]service.InFlight, size)
				next := service.ID(1)
				for b.Loop() {
					for i := range orders {
						next++
						orders[i] = inFlight(next, 1, int64(next))
					}
					results, err := s.WriteBatch(b.Context(), orders, day, nil)
					require.NoError(b, err)
					require.Equal(b, service.Wrote, results[size-1].Outcome)
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "orders/s")
			})
		}
	}
}
