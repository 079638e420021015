package repository

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// Admissions per second over one connection at a time, by requests per call: what group admission gains. "sold out"
// is the answer to everyone who comes too late.
func BenchmarkAdmit(b *testing.B) {
	o, err := redis.ParseURL(backendtest.RedisNodes(b, 1).URLs[0])
	require.NoError(b, err)
	rdb := redis.NewClient(o)
	b.Cleanup(func() { _ = rdb.Close() })
	g := NewGate(rdb, GateOptions{})
	for v, stock := range map[service.ID]int{1: 1 << 40, 2: 0} {
		_, err := g.Preheat(b.Context(), open(v, stock))
		require.NoError(b, err)
	}
	next := service.ID(1)
	for _, size := range []int{1, 64, 256} {
		for v, name := range map[service.ID]string{1: "admitted", 2: "sold_out"} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				asks := make([]service.Ask, size)
				for b.Loop() {
					for i := range asks {
						next++
						asks[i] = ask(next, int64(next))
					}
					answers, err := g.Admit(b.Context(), v, true, asks)
					require.NoError(b, err)
					require.Equal(b, v == 1, answers[size-1].Err == nil)
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "asks/s")
			})
		}
	}
}
