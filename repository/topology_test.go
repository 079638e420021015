package repository

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// On a Redis Cluster of three nodes the partitions' keys lie on all of them, and each partition sells exactly its stock
// and hands every admitted order to its stream.
func TestGateOnRedisCluster(t *testing.T) {
	cluster := backendtest.RedisCluster(t, 3)
	o, err := redis.ParseClusterURL(cluster.URL)
	require.NoError(t, err)
	rdb := redis.NewClusterClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	const partitions, stock, users = 12, 5, 8
	g := NewGate(rdb, GateOptions{Partitions: partitions})
	s := NewStream(g)

	nodes := map[string]bool{}
	for v := service.ID(1); v <= partitions; v++ {
		master, err := rdb.MasterForKey(t.Context(), g.keys.gate(v))
		require.NoError(t, err)
		nodes[master.Options().Addr] = true
		made, err := g.Preheat(t.Context(), open(v, stock))
		require.NoError(t, err)
		require.True(t, made)
		var asks []service.Ask
		for u := range int64(users) {
			asks = append(asks, ask(v*1000+service.ID(u)+1, u+1))
		}
		answers, err := g.Admit(t.Context(), v, true, asks)
		require.NoError(t, err)
		for i, a := range answers {
			if i < stock {
				require.NoError(t, a.Err, "user %d", i+1)
			} else {
				require.ErrorIs(t, a.Err, service.ErrSoldOut)
			}
		}
	}
	require.Len(t, nodes, 3, "every node holds some vouchers")
	depth, err := s.Depth(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, partitions*stock, depth.Messages)
	for p := range s.Partitions() {
		entries, err := s.Read(t.Context(), p, 100, 0)
		require.NoError(t, err)
		require.NoError(t, s.Finish(t.Context(), p, entries))
	}
	for v := service.ID(1); v <= partitions; v++ {
		c := counters(t, g, v)
		require.Equal(t, []int{0, stock, 0, stock}, []int{c.Stock, c.Admitted, c.InFlight, c.Holders})
	}
}

// A sentinel group loses its primary in the middle of a sale. What the replica had acknowledged is kept: nobody buys
// twice and no unit is sold twice.
func TestGateSurvivesFailover(t *testing.T) {
	group := backendtest.RedisSentinel(t)
	o, err := redis.ParseFailoverURL(group.URL)
	require.NoError(t, err)
	rdb := redis.NewFailoverClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	g := preheated(t, rdb, 1, 5)
	for u := range int64(3) {
		require.NoError(t, admit(t, g, 1, true, service.ID(11+u), 1+u).Err)
	}
	// WAIT counts what its own connection has written, so the write and the question share one.
	conn := rdb.Conn()
	require.NoError(t, conn.Set(t.Context(), "marker", 1, time.Minute).Err())
	acknowledged, err := conn.Wait(t.Context(), 1, 30*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, acknowledged)
	require.NoError(t, conn.Close())
	require.NoError(t, group.Signal(0, syscall.SIGKILL))

	// The same ask is repeated until there is an answer, as a service does whose reply was lost.
	again := []service.Ask{ask(14, 4), ask(15, 1)}
	var answers []service.Admission
	require.Eventually(t, func() bool {
		answers, err = g.Admit(t.Context(), 1, true, again)
		return err == nil
	}, 60*time.Second, 50*time.Millisecond, "the promoted replica answers")
	require.NoError(t, answers[0].Err)
	require.ErrorIs(t, answers[1].Err, service.ErrAlreadyOrdered, "user 1 bought before the failover")
	require.NoError(t, admit(t, g, 1, true, 16, 5).Err)
	require.ErrorIs(t, admit(t, g, 1, true, 17, 6).Err, service.ErrSoldOut)
	entries, err := NewStream(g).Read(t.Context(), 0, 100, 0)
	require.NoError(t, err)
	var orders []string
	for _, e := range entries {
		orders = append(orders, e.Order.String())
	}
	require.Equal(t, []string{"11", "12", "13", "14", "16"}, orders, fmt.Sprint(entries))
}
