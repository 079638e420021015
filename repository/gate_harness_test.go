package repository

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

// onEachRedis runs a test on miniredis and on a real server, which keeps the fake honest.
func onEachRedis(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) { test(t, miniClient(t)) })
	t.Run("redis-server", func(t *testing.T) { test(t, realClient(t)) })
}

func miniClient(t testing.TB) *redis.Client {
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	return newClient(t, &redis.Options{Addr: m.Addr()})
}

// realClient talks to a redis-server of the test's own, over a socket in a directory of its own.
func realClient(t testing.TB) *redis.Client {
	dir, err := os.MkdirTemp("", "seckill-redis") // t.TempDir's path may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	startRedis(t, dir, "--port", "0", "--unixsocket", socket)
	return newClient(t, &redis.Options{Network: "unix", Addr: socket})
}

// clusterClient talks to a cluster of one node, which refuses keys of different slots in one script.
func clusterClient(t testing.TB) *redis.ClusterClient {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	require.NoError(t, l.Close())
	startRedis(t, dir, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes",
		"--cluster-port", "0")
	node := newClient(t, &redis.Options{Addr: addr})
	require.NoError(t, node.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool {
		return strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	}, 10*time.Second, 20*time.Millisecond)
	return c
}

func startRedis(t testing.TB, dir string, args ...string) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("SECKILL_REQUIRE_SERVERS") == "1" {
			t.Fatal("redis-server is not on PATH and SECKILL_REQUIRE_SERVERS=1")
		}
		t.Skip("redis-server is not on PATH")
	}
	cmd := exec.Command(program, append([]string{"--save", "", "--appendonly", "no", "--dir", dir}, args...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func newClient(t testing.TB, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool { return c.Ping(context.Background()).Err() == nil }, 10*time.Second, 5*time.Millisecond)
	return c
}

// open is a window that is open during the test.
func open(voucher service.ID, capacity int, live ...service.Unit) service.Preheat {
	now := time.Now()
	return service.Preheat{
		Voucher: voucher, Capacity: capacity, Live: live,
		BeginAt: now.Add(-time.Hour), EndAt: now.Add(time.Hour),
	}
}

func preheated(t testing.TB, rdb redis.UniversalClient, voucher service.ID, stock int) *Gate {
	g := NewGate(rdb, GateOptions{})
	made, err := g.Preheat(t.Context(), open(voucher, stock))
	require.NoError(t, err)
	require.True(t, made)
	return g
}

func ask(order service.ID, user int64) service.Ask { return service.Ask{Order: order, User: user} }

func unit(order, voucher service.ID, user int64) service.Unit {
	return service.Unit{Order: order, Voucher: voucher, User: user}
}

// admit asks for one unit.
func admit(t testing.TB, g *Gate, voucher service.ID, enqueue bool, order service.ID, user int64) service.Admission {
	a, err := g.Admit(t.Context(), voucher, enqueue, []service.Ask{ask(order, user)})
	require.NoError(t, err)
	require.Len(t, a, 1)
	return a[0]
}

func counters(t testing.TB, g *Gate, voucher service.ID) service.GateCounters {
	c, err := g.Counters(t.Context(), voucher)
	require.NoError(t, err)
	return c
}

// dump is everything that Redis holds, as text.
func dump(t testing.TB, rdb *redis.Client) string {
	ctx := t.Context()
	keys, err := rdb.Keys(ctx, "*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		switch kind := rdb.Type(ctx, k).Val(); kind {
		case "hash":
			fmt.Fprintln(&b, k, rdb.HGetAll(ctx, k).Val())
		case "stream":
			fmt.Fprintln(&b, k, rdb.XRange(ctx, k, "-", "+").Val())
			pending, err := rdb.XPending(ctx, k, streamGroup).Result()
			fmt.Fprintln(&b, "  pending", pending, err)
		default:
			fmt.Fprintln(&b, k, kind)
		}
	}
	return b.String()
}
