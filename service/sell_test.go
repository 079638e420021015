package service_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// number is a stock in memory that lets a test stop between its read and its write.
type number struct {
	mu   sync.Mutex
	n    int
	set  bool
	read func()
}

func (s *number) SellStock(context.Context) (int, error) {
	s.mu.Lock()
	n, set := s.n, s.set
	s.mu.Unlock()
	if s.read != nil {
		s.read()
	}
	if !set {
		return 0, service.ErrNotFound
	}
	return n, nil
}

func (s *number) SetSellStock(_ context.Context, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.set = n, true
	return nil
}

func (s *shop) sell(stock service.SellStock) *service.Sell {
	out := &service.Sell{Stock: stock}
	for i, name := range []string{"mutex", "token", "watchdog"} {
		st := stageOf(s.t, name, func(st *service.Stage) {
			if name == "token" {
				st.Wait = 0
			}
		})
		p := s.open(st)
		out.Locks[i], _ = p.Locker(st)
	}
	return out
}

func TestSell_ToTheLast(t *testing.T) {
	ctx := context.Background()
	sell := newShop(t).sell(&number{})
	_, err := sell.One(ctx, 1)
	require.ErrorIs(t, err, service.ErrSoldOut, "before the first reset")
	require.ErrorIs(t, sell.Reset(ctx, -1), service.ErrInvalid)
	for n := 1; n <= 3; n++ {
		require.NoError(t, sell.Reset(ctx, 2))
		for _, want := range []int{1, 0} {
			left, err := sell.One(ctx, n)
			require.NoError(t, err)
			require.Equal(t, want, left)
		}
		_, err = sell.One(ctx, n)
		require.ErrorIs(t, err, service.ErrSoldOut)
	}
}

// sell2 does not wait; sell1 guards one process and not two.
func TestSell_Locks(t *testing.T) {
	ctx, s := context.Background(), newShop(t)
	stock := &number{n: 2, set: true}
	here, there := s.sell(stock), s.sell(stock)
	inside, resume := make(chan struct{}), make(chan struct{})
	var reads atomic.Int64
	stock.read = func() {
		if reads.Add(1) == 1 {
			close(inside)
			<-resume
		}
	}
	done := make(chan int)
	go func() {
		left, _ := here.One(ctx, 2)
		done <- left
	}()
	<-inside
	_, err := there.One(ctx, 2)
	require.ErrorIs(t, err, service.ErrBusy)
	require.ErrorContains(t, err, "try again")
	left, err := there.One(ctx, 1)
	require.NoError(t, err, "another lock does not know of this one")
	require.Equal(t, 1, left)
	close(resume)
	require.Equal(t, 1, <-done, "the same unit was sold twice")
}
