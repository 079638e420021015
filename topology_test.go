package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend"
	"seckill/repository/backend/backendtest"
)

// The addresses of a cluster and of sentinels go through the whole program: flags, children, locks, admission, stream.
func TestCompareOnClusterAndSentinels(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *backend.Topology{
		"cluster":  func(t testing.TB) *backend.Topology { return backendtest.RedisCluster(t, 3) },
		"sentinel": backendtest.RedisSentinel,
	} {
		t.Run(name, func(t *testing.T) {
			rows := compare(t, 0, "--stages=lua,fenced,gate,stream --scenarios=multi --stock=10 --users=30 --redis="+start(t).URL)
			require.Len(t, rows, 4)
			for name, row := range rows {
				require.Equal(t, "ok", row.Verdict, "%s: %s", name, row.Note)
				require.Equal(t, 10, row.Orders, name)
			}
		})
	}
}
