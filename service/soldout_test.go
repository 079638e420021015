package service

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is a GateKeeper whose announcements the test makes.
type watched struct {
	GateKeeper
	state    func(bool)
	returned func(ID)
	ready    chan struct{}
	holders  map[int64]ID
	loads    int
	during   func() // while the holders are read
}

func (w *watched) Holders(context.Context, ID) (map[int64]ID, error) {
	w.loads++
	if w.during != nil {
		w.during()
	}
	return w.holders, nil
}

func (w *watched) WatchReturns(ctx context.Context, state func(bool), returned func(ID)) error {
	w.state, w.returned = state, returned
	close(w.ready)
	<-ctx.Done()
	return ctx.Err()
}

func watch(t *testing.T, s *SoldOut) *watched {
	w := &watched{ready: make(chan struct{}), holders: map[int64]ID{7: 1, 3: 2}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Watch(ctx, w) }()
	<-w.ready
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, s.Answer(1, 9), "nobody watches any more")
	})
	return w
}

func TestSoldOut(t *testing.T) {
	now := time.Unix(1000, 0)
	s := &SoldOut{Now: func() time.Time { return now }}
	s.remember(t.Context(), 1, s.mark())
	require.NoError(t, s.Answer(1, 9), "without a subscription nothing is remembered")

	w := watch(t, s)
	w.state(true)
	s.remember(t.Context(), 1, s.mark())
	require.ErrorIs(t, s.Answer(1, 9), ErrSoldOut)
	require.NoError(t, s.Answer(2, 9))
	require.ErrorIs(t, s.Answer(1, 7), ErrAlreadyOrdered, "who has an order is told that")
	now = now.Add(soldOutFor - 1)
	require.ErrorIs(t, s.Answer(1, 9), ErrSoldOut)
	now = now.Add(1)
	require.NoError(t, s.Answer(1, 9), "bounded in time")

	s.remember(t.Context(), 1, s.mark())
	require.Equal(t, 1, w.loads, "nothing came back meanwhile, so the buyers are the same")
	w.returned(2)
	require.ErrorIs(t, s.Answer(1, 9), ErrSoldOut)
	w.returned(1)
	require.NoError(t, s.Answer(1, 9), "a unit came back")

	s.remember(t.Context(), 1, s.mark())
	w.state(false)
	require.NoError(t, s.Answer(1, 9), "an announcement may be missed from here on")
	w.state(true)
	require.NoError(t, s.Answer(1, 9), "and may have been missed")
}

// The answer "sold out" may arrive after the announcement of a return that came after it was made.
func TestSoldOut_AnswerOvertakenByAReturn(t *testing.T) {
	s := &SoldOut{}
	w := watch(t, s)
	w.state(true)
	mark := s.mark()
	w.returned(1)
	s.remember(t.Context(), 1, mark)
	require.NoError(t, s.Answer(1, 9))
}

// A unit may come back while the buyers are read.
func TestSoldOut_ReturnDuringTheLoad(t *testing.T) {
	s := &SoldOut{}
	w := watch(t, s)
	w.state(true)
	w.during = func() {
		s.remember(t.Context(), 1, s.mark()) // somebody else's; it does not read as well
		w.returned(1)
	}
	s.remember(t.Context(), 1, s.mark())
	require.NoError(t, s.Answer(1, 9))
	require.Equal(t, 1, w.loads)
}

func TestSoldOut_IsBounded(t *testing.T) {
	s := &SoldOut{}
	watch(t, s).state(true)
	for v := range ID(3 * soldOutVouchers) {
		s.remember(t.Context(), v+1, s.mark())
	}
	require.LessOrEqual(t, len(s.sold), soldOutVouchers)
	require.ErrorIs(t, s.Answer(3*soldOutVouchers, 9), ErrSoldOut)
}
