package lock_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// deployable are the locks that have to keep every promise, with the number of servers that they live in.
var deployable = map[string]int{"watchdog": 1, "fenced": 1, "redlock": 3}

// TestRandomCancellations is L-09: whatever moment the callers give up at, nothing stays behind.
func TestRandomCancellations(t *testing.T) {
	locktest.NeedServer(t)
	for kind, nodes := range deployable {
		t.Run(kind, func(t *testing.T) { randomCancellations(t, kind, nodes) })
	}
}

func randomCancellations(t *testing.T, kind string, nodes int) {
	var r lock.Resources
	for _, s := range locktest.Spawn(t, nodes) {
		proxy := locktest.NewProxy(t, s.Addr)
		proxy.Inject(locktest.Fault{Kind: locktest.Delay, Delay: time.Millisecond, Match: func([]string) bool { return rand.N(2) == 0 }})
		rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 32})
		defer rdb.Close()
		r.Nodes = append(r.Nodes, rdb)
	}
	r.Redis = r.Nodes[0]
	var renewed atomic.Int64
	locker, err := lock.Open(kind, r, lock.Options{TTL: 5 * time.Second, Wait: -1, NodeTimeout: time.Second,
		Observer: lock.Observer{Renewed: func(lock.Event) { renewed.Add(1) }}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			for j := range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), rand.N(16*time.Millisecond))
				if l, err := locker.Acquire(ctx, fmt.Sprint("k", (i+j)%10)); err == nil {
					won.Add(1)
					_ = l.Release(ctx)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, locker.Close(ctx))
	seen := renewed.Load()
	for _, rdb := range r.Nodes {
		keys, err := rdb.Keys(ctx, "*").Result()
		require.NoError(t, err)
		for _, k := range keys {
			require.True(t, strings.HasSuffix(k, ":fence"), "left behind: %s", k)
		}
	}
	stacks := make([]byte, 1<<22)
	require.Eventually(t, func() bool { // the last one that Close waited for may be on its very last line
		return !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("lock.(*background).run"))
	}, 10*time.Second, time.Millisecond, "a goroutine after Close")
	require.Equal(t, seen, renewed.Load(), "a renewal after Close")
	t.Logf("%d of 10000 got the lock", won.Load())
}

// TestStoppedHolder is L-17: a holder that was stopped for longer than its TTL finds out before it writes.
func TestStoppedHolder(t *testing.T) {
	if addrs := os.Getenv("LOCK_TEST_HOLDER"); addrs != "" {
		holdAndCheck(os.Getenv("LOCK_TEST_KIND"), strings.Fields(addrs))
		return
	}
	locktest.NeedServer(t)
	for kind, nodes := range deployable {
		t.Run(kind, func(t *testing.T) { stoppedHolder(t, kind, nodes) })
	}
}

func stoppedHolder(t *testing.T, kind string, nodes int) {
	var addrs []string
	for _, s := range locktest.Spawn(t, nodes) {
		addrs = append(addrs, s.Addr)
	}
	holder := exec.Command(os.Args[0], "-test.run=^TestStoppedHolder$")
	holder.Env = append(os.Environ(), "LOCK_TEST_HOLDER="+strings.Join(addrs, " "), "LOCK_TEST_KIND="+kind)
	in, err := holder.StdinPipe()
	require.NoError(t, err)
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "holding", lines.Text())
	require.NoError(t, holder.Process.Signal(syscall.SIGSTOP))

	b, done := openAt(kind, addrs, lock.Options{Wait: 30 * time.Second, NodeTimeout: time.Second})
	defer done()
	next, err := b.Acquire(context.Background(), "k")
	require.NoError(t, err)
	defer next.Release(context.Background())
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(in, "check")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Equal(t, "lost", lines.Text())
}

// openAt opens a lock on the servers.
func openAt(kind string, addrs []string, o lock.Options) (lock.Opened, func()) {
	var r lock.Resources
	for _, addr := range addrs {
		r.Nodes = append(r.Nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	r.Redis = r.Nodes[0]
	l, err := lock.Open(kind, r, o)
	if err != nil {
		panic(err)
	}
	return l, func() {
		_ = l.Close(context.Background())
		for _, rdb := range r.Nodes {
			_ = rdb.Close()
		}
	}
}

// holdAndCheck is the other process.
func holdAndCheck(kind string, addrs []string) {
	a, _ := openAt(kind, addrs, lock.Options{TTL: time.Second, NodeTimeout: 500 * time.Millisecond})
	l, err := a.Acquire(context.Background(), "k")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holding")
	bufio.NewScanner(os.Stdin).Scan()
	if errors.Is(l.Check(), lock.ErrLost) {
		fmt.Println("lost")
	} else {
		fmt.Println("Check:", l.Check())
	}
	os.Exit(0)
}

// TestFailOver is L-38: the primary dies before its replica has the key.
func TestFailOver(t *testing.T) {
	locktest.NeedServer(t)
	ctx := context.Background()
	primary := locktest.Spawn(t, 1)[0]
	host, port, _ := strings.Cut(primary.Addr, ":")
	replica := locktest.Spawn(t, 1, "--replicaof", host, port)[0]
	p, r := primary.Client(), replica.Client()
	defer p.Close()
	defer r.Close()
	synced := func() bool {
		info, _ := r.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up")
	}
	require.Eventually(t, synced, 30*time.Second, 20*time.Millisecond)

	strictReplicas(t, p, replica)

	a := lock.New(p, lock.Options{})
	old, err := a.Fenced().Acquire(ctx, "k")
	require.NoError(t, err)
	primary.Kill()
	require.NoError(t, replica.Thaw())
	require.Eventually(t, func() bool { return r.Do(ctx, "replicaof", "no", "one").Err() == nil }, 30*time.Second, 20*time.Millisecond)
	r.Del(ctx, "lock:{k}") // the promoted one may have got it from its socket after all
	b := lock.New(r, lock.Options{})
	next, err := b.Fenced().Acquire(ctx, "k")
	require.NoError(t, err)
	require.Greater(t, next.Fence(), old.Fence())

	guard := lock.NewRedisGuard(r, "stock:{k}:guard")
	require.NoError(t, guard.Claim(ctx, next.Fence()))
	require.ErrorIs(t, guard.Claim(ctx, old.Fence()), lock.ErrLost, "the fence refuses the former holder")
	require.NoError(t, next.Release(ctx))
	require.NoError(t, b.Close(ctx))
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_ = a.Close(short)
}

// strictReplicas: with MinReplicas an acquire counts only when the replica has it. Afterwards the replica is frozen.
func strictReplicas(t *testing.T, p *redis.Client, replica *locktest.Server) {
	ctx := context.Background()
	strict := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 5 * time.Second})
	for _, locker := range []lock.Locker{strict.Watchdog(), strict.Fenced()} {
		l, err := locker.Acquire(ctx, "strict")
		require.NoError(t, err)
		require.NoError(t, l.Release(ctx))
	}
	require.NoError(t, strict.Close(ctx))

	require.NoError(t, replica.Freeze()) // the replica falls behind
	impatient := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 50 * time.Millisecond, TTL: 2 * time.Second})
	for key, locker := range map[string]lock.Locker{"a": impatient.Watchdog(), "b": impatient.Fenced()} {
		_, err := locker.Acquire(ctx, key)
		require.ErrorIs(t, err, lock.ErrReplicas)
	}
	require.NoError(t, impatient.Close(ctx))
	require.Zero(t, p.Exists(ctx, "lock:{a}", "lock:{b}").Val(), "an unacknowledged lock stays")
}
