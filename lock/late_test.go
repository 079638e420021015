package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// TestStoppedHolder is L-17: a holder that was stopped for longer than its TTL, and whose work goes on as if nothing
// had been, finds out at its first Check, and what has a fence refuses its first write.
func TestStoppedHolder(t *testing.T) {
	if addrs := os.Getenv("LOCK_TEST_HOLDER"); addrs != "" {
		holdAndGoOn(os.Getenv("LOCK_TEST_KIND"), strings.Fields(addrs), os.Getenv("LOCK_TEST_DB"))
		return
	}
	locktest.NeedServer(t)
	all := databases(t)
	for kind, nodes := range deployable {
		if kind != "fenced" { // the others have nothing that could refuse
			t.Run(kind, func(t *testing.T) { stoppedHolder(t, kind, nodes, "") })
			continue
		}
		for name, at := range all {
			t.Run(kind+" "+name, func(t *testing.T) { stoppedHolder(t, kind, nodes, at) })
		}
	}
}

func stoppedHolder(t *testing.T, kind string, nodes int, at string) {
	var addrs []string
	servers := locktest.Spawn(t, nodes)
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	var data ledger
	if at != "" {
		rdb := servers[0].Client()
		defer rdb.Close()
		data = openLedger(at, rdb)
		defer data.db.Close()
		data.reset(t)
	}
	holder := exec.Command(os.Args[0], "-test.run=^TestStoppedHolder$")
	holder.Env = append(os.Environ(), "LOCK_TEST_HOLDER="+strings.Join(addrs, " "), "LOCK_TEST_KIND="+kind, "LOCK_TEST_DB="+at)
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
	if at != "" {
		data.supersede(t, next.Fence())
	}
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(in, "go on")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Equal(t, "refused", lines.Text())
	if at != "" {
		data.unharmed(t, next.Fence())
	}
}

// holdAndGoOn is the other process: it holds the lock, has claimed the data if there is some, and when it wakes it
// writes first and asks afterwards.
func holdAndGoOn(kind string, addrs []string, at string) {
	a, _ := openAt(kind, addrs, lock.Options{TTL: time.Second, NodeTimeout: 500 * time.Millisecond})
	l, err := a.Acquire(context.Background(), "k")
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func() []string { return nil }
	if at != "" {
		data := openLedger(at, redis.NewClient(&redis.Options{Addr: addrs[0]}))
		row, value, err := data.take(l.Fence())
		if err != nil {
			fmt.Println(err)
			return
		}
		write = func() []string { return data.lateWrites(l.Fence(), row, value) }
	}
	fmt.Println("holding")
	bufio.NewScanner(os.Stdin).Scan()
	done := write()
	if err := l.Check(); !errors.Is(err, lock.ErrLost) {
		done = append(done, fmt.Sprint("Check: ", err))
	}
	if len(done) > 0 {
		fmt.Println("not refused:", strings.Join(done, ", "))
	} else {
		fmt.Println("refused")
	}
	os.Exit(0)
}

// TestFailOver is L-38: the primary dies before its replica has the key.
func TestFailOver(t *testing.T) {
	locktest.NeedServer(t)
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) { failOver(t, at) })
	}
}

func failOver(t *testing.T, at string) {
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
	data := openLedger(at, locktest.Spawn(t, 1)[0].Client()) // what is guarded is not what fails
	defer data.db.Close()
	defer data.rdb.Close()
	data.reset(t)
	row, value, err := data.take(old.Fence())
	require.NoError(t, err)
	primary.Kill()
	require.NoError(t, replica.Thaw())
	require.Eventually(t, func() bool { return r.Do(ctx, "replicaof", "no", "one").Err() == nil }, 30*time.Second, 20*time.Millisecond)
	r.Del(ctx, "lock:{k}") // the promoted one may have got it from its socket after all
	b := lock.New(r, lock.Options{})
	next, err := b.Fenced().Acquire(ctx, "k")
	require.NoError(t, err)
	require.Greater(t, next.Fence(), old.Fence())

	data.supersede(t, next.Fence())
	require.Empty(t, data.lateWrites(old.Fence(), row, value), "the fence refuses the former holder")
	data.unharmed(t, next.Fence())
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
