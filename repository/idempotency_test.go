package repository

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func keyClaim(user int64, key string, order service.ID) service.IdempotencyClaim {
	return service.IdempotencyClaim{User: user, Key: key, RequestHash: "h", Order: order, At: day}
}

func TestIdempotencyKey(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx, stale := t.Context(), day.Add(-time.Minute)
		c, ours, err := s.ClaimKey(ctx, keyClaim(7, "k", 11), stale)
		require.NoError(t, err)
		require.True(t, ours)
		require.Equal(t, 1, c.Attempt)

		again, ours, err := s.ClaimKey(ctx, keyClaim(7, "k", 12), stale)
		require.NoError(t, err)
		require.False(t, ours)
		require.Equal(t, c, again, "in progress, with the first request's order")

		c.Status, c.Body = 201, []byte(`{"order_id":"11"}`)
		require.NoError(t, s.SettleKey(ctx, c))
		again, ours, err = s.ClaimKey(ctx, keyClaim(7, "k", 13), day.AddDate(1, 0, 0))
		require.NoError(t, err)
		require.False(t, ours, "an answered key is never taken over")
		require.Equal(t, c, again)
		require.NoError(t, s.AbandonKey(ctx, c), "and never given up")

		for _, other := range []service.IdempotencyClaim{keyClaim(8, "k", 14), keyClaim(7, "K", 15)} {
			_, ours, err = s.ClaimKey(ctx, other, stale)
			require.NoError(t, err)
			require.True(t, ours, "another user's key, and another case, are other keys")
		}
		n, err := s.ForgetKeys(ctx, day)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = s.ForgetKeys(ctx, day.Add(time.Second))
		require.NoError(t, err)
		require.Equal(t, int64(3), n)
	})
}

func TestIdempotencyKeyAbandoned(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		c, _, err := s.ClaimKey(ctx, keyClaim(7, "k", 11), day)
		require.NoError(t, err)
		require.NoError(t, s.AbandonKey(ctx, c))
		c, ours, err := s.ClaimKey(ctx, keyClaim(7, "k", 12), day)
		require.NoError(t, err)
		require.True(t, ours)
		require.Equal(t, service.ID(12), c.Order)
	})
}

// The first request's process died: a later one goes on, with the same order id, and the first can't answer any more.
func TestIdempotencyKeyTakenOver(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		first, _, err := s.ClaimKey(ctx, keyClaim(7, "k", 11), day)
		require.NoError(t, err)
		other := keyClaim(7, "k", 12)
		other.RequestHash = "another"
		_, ours, err := s.ClaimKey(ctx, other, day.Add(time.Hour))
		require.NoError(t, err)
		require.False(t, ours, "another request never takes the key over")

		late := keyClaim(7, "k", 12)
		late.At = day.Add(2 * time.Hour)
		second, ours, err := s.ClaimKey(ctx, late, day.Add(time.Hour))
		require.NoError(t, err)
		require.True(t, ours)
		require.Equal(t, service.ID(11), second.Order)
		require.Equal(t, 2, second.Attempt)

		first.Status, first.Body = 503, nil
		require.NoError(t, s.SettleKey(ctx, first))
		require.NoError(t, s.AbandonKey(ctx, first))
		seen, ours, err := s.ClaimKey(ctx, keyClaim(7, "k", 13), day)
		require.NoError(t, err)
		require.False(t, ours)
		require.Equal(t, second, seen)
	})
}

func TestIdempotencyKeyInvalid(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		for _, key := range []string{"", strings.Repeat("x", maxKey+1)} {
			_, _, err := s.ClaimKey(t.Context(), keyClaim(7, key, 11), day)
			require.ErrorIs(t, err, service.ErrInvalid)
		}
		_, ours, err := s.ClaimKey(t.Context(), keyClaim(7, strings.Repeat("x", maxKey), 11), day)
		require.NoError(t, err)
		require.True(t, ours)
		require.ErrorIs(t, s.SettleKey(t.Context(), keyClaim(7, "k", 11)), service.ErrInvalid)
	})
}

// 20 at once: one does the work, also when the key is taken over.
func TestIdempotencyKeyTwentyAtOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		for round, stale := range []time.Time{day.Add(-time.Hour), day.Add(time.Minute)} {
			var ours atomic.Int64
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					c := keyClaim(7, "k", service.ID(100+i))
					c.At = day.Add(time.Duration(round) * time.Hour)
					_, mine, err := s.ClaimKey(t.Context(), c, stale)
					if err != nil {
						t.Errorf("claim: %v", err)
					} else if mine {
						ours.Add(1)
					}
				})
			}
			wg.Wait()
			require.Equal(t, int64(1), ours.Load(), "round %d", round)
		}
	})
}
