package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

func quorumOn(t *testing.T, servers []*locktest.Server, o lock.Options) *lock.Quorum {
	var nodes []redis.UniversalClient
	for _, s := range servers {
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
		t.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	q, err := lock.NewQuorum(nodes, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // it may owe lost nodes a clean-up
		defer cancel()
		_ = q.Close(ctx)
	})
	return q
}

func TestQuorumLosesNodes(t *testing.T) {
	locktest.NeedServer(t)
	servers := locktest.Spawn(t, 3)
	q := quorumOn(t, servers, lock.Options{TTL: 5 * time.Second, NodeTimeout: time.Second})
	ctx := context.Background()
	servers[0].Kill()
	l, err := q.Acquire(ctx, "k")
	require.NoError(t, err, "a lost minority")
	require.Less(t, l.Remaining(), 5*time.Second-50*time.Millisecond, "the drift is taken off")
	require.NoError(t, l.Release(ctx))
	servers[1].Kill()
	_, err = q.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrNoQuorum, "a lost majority")
	require.NotErrorIs(t, err, lock.ErrBusy)
}

func TestRestartGrace(t *testing.T) {
	locktest.NeedServer(t)
	servers := locktest.Spawn(t, 3)
	ctx := context.Background()
	young := quorumOn(t, servers, lock.Options{TTL: 30 * time.Second, NodeTimeout: 5 * time.Second, RestartGrace: time.Hour})
	_, err := young.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrNoQuorum, "nodes that have just started do not vote")
	grown := quorumOn(t, servers, lock.Options{TTL: 30 * time.Second, NodeTimeout: 5 * time.Second, RestartGrace: time.Second, Wait: 20 * time.Second})
	l, err := grown.Acquire(ctx, "other")
	require.NoError(t, err, "they vote when they have been up for long enough")
	require.NoError(t, l.Release(ctx))
}

func TestNewQuorumNeedsNodes(t *testing.T) {
	_, err := lock.NewQuorum(nil, lock.Options{})
	require.ErrorIs(t, err, lock.ErrInvalid)
}
