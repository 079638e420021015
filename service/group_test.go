package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeGate admits everybody until the stock is gone. Each call first runs before, when there is one.
type fakeGate struct {
	Admitter
	before func(call int, asks []Ask)

	mu    sync.Mutex
	stock int
	calls [][]Ask
	err   error
}

func (g *fakeGate) Admit(_ context.Context, _ ID, _ bool, asks []Ask) ([]Admission, error) {
	g.mu.Lock()
	g.calls = append(g.calls, asks)
	n := len(g.calls)
	g.mu.Unlock()
	if g.before != nil {
		g.before(n, asks)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	out := make([]Admission, len(asks))
	for i, a := range asks {
		if g.stock--; g.stock < 0 {
			out[i].Err = ErrSoldOut
		}
		out[i].Existing = a.Order // so that a test sees whose answer it got
	}
	return out, nil
}

func (g *fakeGate) sizes() (sizes []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.calls {
		sizes = append(sizes, len(c))
	}
	return sizes
}

// While one call is in flight all others gather, and the next call carries them, at most MaxAdmit.
func TestGroups_GatherWhileACallIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		gate := &fakeGate{stock: 1000, before: func(call int, _ []Ask) {
			if call == 1 {
				<-goOn
			}
		}}
		groups := &Groups{Gate: gate}
		var wg sync.WaitGroup
		for i := range 1 + MaxAdmit + 10 {
			wg.Go(func() {
				a, err := groups.Admit(t.Context(), 7, false, Ask{Order: ID(i + 1), User: int64(i + 1)})
				require.NoError(t, err)
				require.Equal(t, ID(i+1), a.Existing, "everybody gets its own answer")
			})
			synctest.Wait()
		}
		close(goOn)
		wg.Wait()
		require.Equal(t, []int{1, MaxAdmit, 10}, gate.sizes())
		require.Empty(t, groups.inFlight)
	})
}

// A request that finds no call in flight is sent alone and at once, whatever happens to other vouchers.
func TestGroups_DoNotWaitWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		gate := &fakeGate{stock: 10, before: func(_ int, asks []Ask) {
			if asks[0].User == 1 {
				<-goOn
			}
		}}
		groups := &Groups{Gate: gate}
		done := make(chan struct{})
		go func() { defer close(done); _, _ = groups.Admit(t.Context(), 1, false, Ask{User: 1}) }()
		synctest.Wait()
		start := time.Now()
		_, err := groups.Admit(t.Context(), 2, false, Ask{User: 2})
		require.NoError(t, err)
		_, err = groups.Admit(t.Context(), 1, true, Ask{User: 3})
		require.NoError(t, err, "the two paths do not mix")
		require.Zero(t, time.Since(start))
		close(goOn)
		<-done
	})
}

// A request whose context ends leaves at once while it gathers; once it was sent it hears the answer.
func TestGroups_Leave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		gate := &fakeGate{stock: 10, before: func(int, []Ask) { <-goOn }}
		groups := &Groups{Gate: gate}
		ctx, cancel := context.WithCancel(t.Context())
		type result struct {
			a   Admission
			err error
		}
		sent, left := make(chan result, 1), make(chan result, 1)
		go func() { a, err := groups.Admit(ctx, 1, false, Ask{Order: 1, User: 1}); sent <- result{a, err} }()
		synctest.Wait()
		go func() { a, err := groups.Admit(ctx, 1, false, Ask{Order: 2, User: 2}); left <- result{a, err} }()
		synctest.Wait()
		cancel()
		gone := <-left
		require.ErrorIs(t, gone.err, ErrBusy)
		require.ErrorIs(t, gone.err, context.Canceled)
		goOn <- struct{}{}
		got := <-sent
		require.NoError(t, got.err)
		require.NoError(t, got.a.Err, "admitted: the caller has to give it back")
		require.Equal(t, []int{1}, gate.sizes(), "who left was never sent")

		_, err := groups.Admit(ctx, 1, false, Ask{User: 3})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// The one whose turn it is to make the next call may be leaving at that moment; the others must not wait for ever.
func TestGroups_TheNextCallerLeaves(t *testing.T) {
	for round := range 200 {
		gate := &fakeGate{stock: 1 << 20}
		groups := &Groups{Gate: gate}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var admitted atomic.Int64
		for i := range 20 {
			c := t.Context()
			if i%2 == 0 {
				c = ctx
			}
			wg.Go(func() {
				if a, err := groups.Admit(c, 1, false, Ask{Order: ID(i + 1), User: int64(i + 1)}); err == nil && a.Err == nil {
					admitted.Add(1)
				} else if i%2 == 1 {
					t.Errorf("round %d: %v %v", round, a.Err, err)
				}
			})
			if i == 10 {
				go cancel()
			}
		}
		wg.Wait()
		cancel()
		require.EqualValues(t, 1<<20-gate.stock, admitted.Load(), "every unit that was taken has an owner who knows")
		require.Empty(t, groups.inFlight)
	}
}

func TestGroups_FailuresReachEveryone(t *testing.T) {
	boom := errors.New("no reply")
	for name, before := range map[string]func(*fakeGate){
		"error": func(g *fakeGate) { g.err = boom },
		"panic": func(g *fakeGate) { g.before = func(int, []Ask) { panic(boom) } },
	} {
		t.Run(name, func(t *testing.T) {
			gate := &fakeGate{}
			before(gate)
			groups := &Groups{Gate: gate}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					defer func() { _ = recover() }() // the panic is the caller's, as without a group
					_, err := groups.Admit(t.Context(), 1, false, Ask{User: int64(i + 1)})
					require.Error(t, err)
				})
			}
			wg.Wait()
			require.Empty(t, groups.inFlight)
		})
	}
}

// BenchmarkGroups shows what sharing a call is worth when a call takes as long as a round trip to Redis.
func BenchmarkGroups(b *testing.B) {
	for _, clients := range []int{1, 16, 64, 256} {
		for name, admit := range map[string]func(*Groups) func(context.Context, Ask) error{
			"grouped": func(g *Groups) func(context.Context, Ask) error {
				return func(ctx context.Context, a Ask) error { _, err := g.Admit(ctx, 1, true, a); return err }
			},
			"alone": func(g *Groups) func(context.Context, Ask) error {
				return func(ctx context.Context, a Ask) error { _, err := g.Gate.Admit(ctx, 1, true, []Ask{a}); return err }
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) {
				var server sync.Mutex // Redis runs one script at a time: 20 µs a call and 2 µs for each ask
				gate := &fakeGate{stock: 1 << 40, before: func(_ int, asks []Ask) {
					server.Lock()
					defer server.Unlock()
					for end := time.Now().Add(20*time.Microsecond + time.Duration(len(asks))*2*time.Microsecond); time.Now().Before(end); {
					}
				}}
				one := admit(&Groups{Gate: gate})
				var next atomic.Int64
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							_ = one(b.Context(), Ask{Order: ID(i), User: i})
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/float64(len(gate.calls)), "asks/call")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "asks/s")
			})
		}
	}
}
