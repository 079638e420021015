package repository

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
)

// BenchmarkConditional is the whole conditional transaction (insert, take one, commit) by 32 goroutines, from one
// process and from two stores on the same database, as two processes would be.
//
//	go test ./repository -run xxx -bench Conditional
func BenchmarkConditional(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{
		"sqlite":  backendtest.SQLite,
		"mariadb": backendtest.MariaDB,
	} {
		b.Run(name+"/stores=1", func(b *testing.B) { benchmarkConditional(b, dsn(b), 1) })
		b.Run(name+"/stores=2", func(b *testing.B) { benchmarkConditional(b, dsn(b), 2) })
	}
}

func benchmarkConditional(b *testing.B, dsn string, stores int) {
	db := newBench(b, dsn, Options{})
	all := []*Store{db.Store}
	for len(all) < stores {
		all = append(all, openStore(b, dsn, Options{}))
	}
	v := db.voucher(b, 10)
	require.NoError(b, db.writer.Exec("UPDATE stock SET stock = ?", b.N+10).Error)
	var user atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := user.Add(1)
			require.NoError(b, buy(context.Background(), all[n%int64(stores)], db.order(b, v, n)))
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
}
