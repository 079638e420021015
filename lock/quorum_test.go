package lock_test

import (
	"context"
	"fmt"
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

// TestLateCopyToOneNode: a node's connection breaks during the acquire, so that the acquire is sent again; the lock is
// released while that copy is still on its way, and the copy creates the key again. It must not stay until its TTL.
// Who meets the first copy's key, the release or the clean-up behind it, is a matter of luck: hence the rounds.
func TestLateCopyToOneNode(t *testing.T) {
	locktest.NeedServer(t)
	servers := locktest.Spawn(t, 3)
	first := servers[0].Client()
	defer first.Close()
	proxy := locktest.NewProxy(t, servers[0].Addr)
	servers[0].Addr = proxy.Addr()
	q := quorumOn(t, servers, lock.Options{TTL: 30 * time.Second, NodeTimeout: 5 * time.Second})
	ctx := context.Background()
	soon := func(done func() bool, what string) {
		require.Eventually(t, done, 10*time.Second, time.Millisecond, what)
	}
	gone := func() bool { return first.DBSize(ctx).Val() == 0 }
	acquire := func(words []string) bool { return words[0] == "evalsha" && words[len(words)-1] == "30000" } // not what cleans up
	warm, err := q.Acquire(ctx, "warm up")
	require.NoError(t, err)
	require.NoError(t, warm.Release(ctx))
	soon(gone, "warm")
	for round := range 8 {
		last := []locktest.FaultKind{locktest.None, locktest.Cut}[round%2] // its answer arrives, or does not
		gate := locktest.NewGate()
		proxy.Inject(locktest.Fault{Kind: locktest.Cut, Times: 1, Match: acquire})
		proxy.Inject(locktest.Fault{Kind: last, Times: 1, Match: acquire, Gate: gate})
		l, err := q.Acquire(ctx, fmt.Sprint("k", round))
		require.NoError(t, err)
		soon(func() bool { return gate.Held() == 1 }, "the second copy is on its way")
		require.NoError(t, l.Release(ctx))
		soon(gone, "the first copy's key")
		gate.Open()
		soon(func() bool { return gate.Passed() == 1 }, "the second copy is executed")
		soon(gone, "the second copy's key")
	}
}

// TestRenewalWithAFrozenNode: a renewal counts as soon as a majority has given it, however long the nodes may take.
func TestRenewalWithAFrozenNode(t *testing.T) {
	t.Parallel()
	locktest.NeedServer(t)
	servers := locktest.Spawn(t, 3)
	q := quorumOn(t, servers, lock.Options{TTL: 2 * time.Second, NodeTimeout: 20 * time.Second})
	require.NoError(t, servers[0].Freeze())
	defer func() { require.NoError(t, servers[0].Thaw()) }()
	l, err := q.Acquire(context.Background(), "k")
	require.NoError(t, err)
	select {
	case <-l.Context().Done():
		t.Fatal(context.Cause(l.Context()))
	case <-time.After(5 * time.Second):
	}
	require.NoError(t, l.Release(context.Background()))
}
