package lock_test

import (
	"bufio"
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

// TestRandomCancellations is L-09: whatever moment the callers give up at, nothing stays behind.
func TestRandomCancellations(t *testing.T) {
	locktest.NeedServer(t)
	proxy := locktest.NewProxy(t, locktest.Spawn(t, 1)[0].Addr)
	proxy.Inject(locktest.Fault{Kind: locktest.Delay, Delay: time.Millisecond, Match: func([]string) bool { return rand.N(2) == 0 }})
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 32})
	defer rdb.Close()
	var renewed atomic.Int64
	client := lock.New(rdb, lock.Options{TTL: 5 * time.Second, Wait: -1,
		Observer: lock.Observer{Renewed: func(lock.Event) { renewed.Add(1) }}})
	locker := client.Fenced()
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
	require.NoError(t, client.Close(ctx))
	proxy.Heal()
	seen := renewed.Load()
	keys, err := rdb.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, k := range keys {
		require.True(t, strings.HasSuffix(k, ":fence"), "left behind: %s", k)
	}
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.NotContains(t, string(stacks), "lock.(*background).run", "a goroutine after Close")
	require.Equal(t, seen, renewed.Load(), "a renewal after Close")
	t.Logf("%d of 10000 got the lock", won.Load())
}

// TestStoppedHolder is L-17: a holder that was stopped for longer than its TTL finds out before it writes.
func TestStoppedHolder(t *testing.T) {
	if addr := os.Getenv("LOCK_TEST_HOLDER"); addr != "" {
		holdAndCheck(addr)
		return
	}
	locktest.NeedServer(t)
	addr := locktest.Spawn(t, 1)[0].Addr
	holder := exec.Command(os.Args[0], "-test.run=^TestStoppedHolder$")
	holder.Env = append(os.Environ(), "LOCK_TEST_HOLDER="+addr)
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

	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client := lock.New(rdb, lock.Options{Wait: 30 * time.Second})
	defer client.Close(context.Background())
	next, err := client.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	defer next.Release(context.Background())
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(in, "check")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Equal(t, "lost", lines.Text())
}

// holdAndCheck is the other process.
func holdAndCheck(addr string) {
	client := lock.New(redis.NewClient(&redis.Options{Addr: addr}), lock.Options{TTL: time.Second})
	l, err := client.Watchdog().Acquire(context.Background(), "k")
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

	strict := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 5 * time.Second})
	l, err := strict.Fenced().Acquire(ctx, "strict")
	require.NoError(t, err)
	require.NoError(t, l.Release(ctx))
	require.NoError(t, strict.Close(ctx))

	require.NoError(t, replica.Freeze()) // the replica falls behind
	impatient := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 50 * time.Millisecond, TTL: 2 * time.Second})
	_, err = impatient.Fenced().Acquire(ctx, "strict")
	require.ErrorIs(t, err, lock.ErrReplicas)
	require.NoError(t, impatient.Close(ctx))
	require.Zero(t, p.Exists(ctx, "lock:{strict}").Val(), "an unacknowledged lock stays")

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
