package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// The model of a register behind a lock with fencing: a write succeeds if no later fence has claimed the register, a
// read under the lock sees the last write.
type (
	registerInput struct {
		write bool
		value int
	}
	registerOutput struct {
		value int
		lost  bool // the guard refused: nothing was written
	}
)

var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, in, out any) (bool, any) {
		i, o := in.(registerInput), out.(registerOutput)
		switch {
		case o.lost:
			return true, state
		case i.write:
			return true, i.value
		}
		return o.value == state.(int), state
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// TestHistories records what concurrent holders do to a register while their connections break, replies are late and
// leases are lost in the middle, and lets porcupine find an order that explains it. The increment is checked
// apart: every successful one has a value of its own, as two holders with one value would be a lost update.
func TestHistories(t *testing.T) {
	locktest.NeedServer(t)
	server := locktest.Spawn(t, 1)[0]
	direct := server.Client()
	defer direct.Close()
	proxy := locktest.NewProxy(t, server.Addr)
	proxy.Inject(locktest.Fault{Kind: locktest.Cut, Match: func([]string) bool { return rand.N(40) == 0 }})
	proxy.Inject(locktest.Fault{Kind: locktest.Delay, Delay: 80 * time.Millisecond, Match: func([]string) bool { return rand.N(20) == 0 }})

	h := &history{guard: lock.NewRedisGuard(direct, "{r}:guard"), direct: direct, values: map[int]int{}}
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
			defer rdb.Close()
			c := lock.New(rdb, lock.Options{TTL: 150 * time.Millisecond, Wait: 5 * time.Second})
			defer c.Close(context.Background())
			for range 25 {
				h.increment(t, client, c.Fenced())
			}
		})
	}
	wg.Wait()
	result, picture, err := explain(h.ops, t.ArtifactDir())
	require.NoError(t, err)
	require.Empty(t, picture, "no order explains the history: see the picture")
	for value, times := range h.values {
		require.Equal(t, 1, times, "the value %d was written %d times: a lost update", value, times)
	}
	require.NotEmpty(t, h.values)
	t.Logf("%s: %d operations, %d increments, %d refused or lost", result, len(h.ops), len(h.values), h.lost)
}

// explain looks for an order that explains the history. When there is none it draws the history in dir.
func explain(ops []porcupine.Operation, dir string) (result porcupine.CheckResult, picture string, err error) {
	result, info := porcupine.CheckOperationsVerbose(register, ops, time.Minute)
	if result == porcupine.Illegal {
		picture = filepath.Join(dir, "history.html")
		err = porcupine.VisualizePath(register, info, picture)
	}
	return result, picture, err
}

// TestWrongHistory feeds a history that is wrong. Two holders at a time read 0 and write 1: a register explains even that
// (which is why the increments are counted apart), but not the third holder, who comes later and reads 0 again.
func TestWrongHistory(t *testing.T) {
	op := func(client int, call, end int64, in registerInput, value int) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: in, Call: call, Output: registerOutput{value: value}, Return: end}
	}
	read, write := registerInput{}, registerInput{write: true, value: 1}
	right := []porcupine.Operation{op(0, 1, 4, read, 0), op(1, 2, 3, read, 0), op(0, 5, 8, write, 0), op(1, 6, 7, write, 0)}
	result, picture, err := explain(right, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, porcupine.Ok, result)
	require.Empty(t, picture)

	result, picture, err = explain(append(right, op(2, 9, 10, read, 0)), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, porcupine.Illegal, result)
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(drawn), register.DescribeOperation(write, registerOutput{}), "the operations are named")
}

type history struct {
	guard  lock.RedisGuard
	direct *redis.Client

	mu     sync.Mutex
	ops    []porcupine.Operation
	values map[int]int
	lost   int
}

var (
	readFenced  = lock.FencedScript(`return tonumber(redis.call('GET', KEYS[1]) or 0)`)
	writeFenced = lock.FencedScript(`redis.call('SET', KEYS[1], ARGV[1]) return 1`)
)

// increment reads and writes under the lock, in the middle of which some lose their lease. It does not look at the
// lease: the guard alone decides, as it must for a holder that was stopped.
func (h *history) increment(t *testing.T, client int, l lock.Locker) {
	ctx := context.Background()
	lease, err := l.Acquire(ctx, "r")
	if err != nil {
		return // the proxy cut too much; no operation took place
	}
	defer lease.Release(ctx)
	if h.guard.Claim(ctx, lease.Fence()) != nil {
		return
	}
	began := time.Now().UnixNano()
	v, err := h.guard.Run(ctx, readFenced, lease.Fence(), []string{"{r}"})
	if err != nil {
		return
	}
	value := int(v.(int64))
	h.note(client, registerInput{}, registerOutput{value: value}, began)
	time.Sleep(rand.N(4 * time.Millisecond))
	if rand.N(5) == 0 { // the lease passes to another in the middle
		h.direct.Del(ctx, "lock:{r}")
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	began = time.Now().UnixNano()
	_, err = h.guard.Run(ctx, writeFenced, lease.Fence(), []string{"{r}"}, value+1)
	h.note(client, registerInput{write: true, value: value + 1}, registerOutput{lost: err != nil}, began)
}

func (h *history) note(client int, in registerInput, out registerOutput, began int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: time.Now().UnixNano()})
	switch {
	case out.lost:
		h.lost++
	case in.write:
		h.values[in.value]++
	}
}
