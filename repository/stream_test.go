package repository

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

func admitted(t testing.TB, g *Gate, n int) {
	for i := range n {
		require.NoError(t, admit(t, g, 1, true, service.ID(100+i), int64(1+i)).Err)
	}
}

func ids(entries []service.Entry) []service.ID {
	out := []service.ID{}
	for _, e := range entries {
		out = append(out, e.Order)
	}
	return out
}

// Orders that were enqueued before the first worker starts are read, in their order, with all they need.
func TestStreamReadsWhatWasThereBefore(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 10)
		admitted(t, g, 3)
		s := NewStream(g)
		first, err := s.Read(t.Context(), 0, 2, time.Second)
		require.NoError(t, err)
		require.Equal(t, []service.ID{100, 101}, ids(first))
		e := first[0]
		require.Equal(t, unit(100, 1, 1), e.Unit)
		require.Equal(t, int64(1), e.Deliveries)
		require.Empty(t, e.Malformed)
		require.WithinDuration(t, time.Now(), e.At, time.Minute)
		second, err := s.Read(t.Context(), 0, 2, 0)
		require.NoError(t, err)
		require.Equal(t, []service.ID{102}, ids(second))

		for range 2 {
			require.NoError(t, s.Finish(t.Context(), 0, append(first, second...)))
		}
		d, err := s.Depth(t.Context())
		require.NoError(t, err)
		require.Zero(t, d)
		c := counters(t, g, 1)
		require.Equal(t, [5]int{7, 3, 0, 0, 3}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
		require.NoError(t, s.Finish(t.Context(), 0, nil))
	})
}

// Nothing there: one stream without messages, or no stream at all; neither blocks nor panics.
func TestStreamEmpty(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		s := NewStream(NewGate(rdb, GateOptions{}))
		for range 2 { // without and with a group
			for name, read := range map[string]func() ([]service.Entry, error){
				"own":   func() ([]service.Entry, error) { return s.Own(t.Context(), 0, 10, "0") },
				"claim": func() ([]service.Entry, error) { return s.Claim(t.Context(), 0, 10, 0) },
				"read":  func() ([]service.Entry, error) { return s.Read(t.Context(), 0, 10, 0) },
				"block": func() ([]service.Entry, error) { return s.Read(t.Context(), 0, 10, 10*time.Millisecond) },
			} {
				entries, err := read()
				require.NoError(t, err, name)
				require.Empty(t, entries, name)
			}
		}
		d, err := s.Depth(t.Context())
		require.NoError(t, err)
		require.Zero(t, d)
	})
}

// The stream and its group are deleted under a blocked reader: the next read makes the group again, from 0 on.
func TestStreamHealsAfterFlush(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 10)
		s := NewStream(g)
		admitted(t, g, 1)
		_, err := s.Read(t.Context(), 0, 10, 0)
		require.NoError(t, err)
		got := make(chan []service.Entry)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			defer close(got)
			for ctx.Err() == nil {
				entries, err := s.Read(ctx, 0, 10, 50*time.Millisecond)
				if err != nil && ctx.Err() == nil {
					t.Errorf("read: %v", err)
					return
				}
				if len(entries) > 0 {
					got <- entries
				}
			}
		}()
		for i := range 5 {
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
			_, err := g.Preheat(t.Context(), open(1, 10))
			require.NoError(t, err)
			require.NoError(t, admit(t, g, 1, true, service.ID(200+i), 7).Err)
			require.Equal(t, []service.ID{service.ID(200 + i)}, ids(<-got))
		}
		cancel()
		<-got
	})
}

// A worker died after reading: another one takes over, and sees how often the message was delivered.
func TestStreamClaim(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 10)
		admitted(t, g, 3)
		dead, other := NewStream(g), NewStream(g)
		require.NotEqual(t, dead.Consumer(), other.Consumer())
		read, err := dead.Read(t.Context(), 0, 10, 0)
		require.NoError(t, err)
		require.NoError(t, dead.Finish(t.Context(), 0, read[:1]))

		young, err := other.Claim(t.Context(), 0, 10, time.Hour)
		require.NoError(t, err)
		require.Empty(t, young)
		claimed, err := other.Claim(t.Context(), 0, 10, 0)
		require.NoError(t, err)
		require.Equal(t, []service.ID{101, 102}, ids(claimed))
		for _, e := range claimed {
			require.Equal(t, int64(2), e.Deliveries)
		}
		third, err := NewStream(g).Claim(t.Context(), 0, 1, 0)
		require.NoError(t, err)
		require.Equal(t, []service.ID{101}, ids(third))
		require.Equal(t, int64(3), third[0].Deliveries)
		require.NoError(t, other.Finish(t.Context(), 0, claimed))
		again, err := dead.Own(t.Context(), 0, 10, "0")
		require.NoError(t, err)
		require.Empty(t, again)
	})
}

func TestStreamOwn(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 10)
		admitted(t, g, 3)
		s := NewStream(g)
		read, err := s.Read(t.Context(), 0, 10, 0)
		require.NoError(t, err)
		// One of them is deleted from the stream although it is pending.
		require.NoError(t, rdb.XDel(t.Context(), g.keys.stream(0), read[1].ID).Err())
		own, err := s.Own(t.Context(), 0, 10, "0")
		require.NoError(t, err)
		require.Equal(t, []service.ID{100, 102}, ids(own))
		require.Equal(t, int64(2), rdb.XLen(t.Context(), g.keys.stream(0)).Val())
		after, err := s.Own(t.Context(), 0, 10, own[0].ID)
		require.NoError(t, err)
		require.Equal(t, []service.ID{102}, ids(after))
		n, err := rdb.XPending(t.Context(), g.keys.stream(0), streamGroup).Result()
		require.NoError(t, err)
		require.Equal(t, int64(2), n.Count, "the deleted one is acknowledged")
	})
}

// One poison message goes to the dead letters with the reason; the rest flows.
func TestStreamBury(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		g := preheated(t, rdb, 1, 10)
		admitted(t, g, 1)
		require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: g.keys.stream(0), Values: []string{"order", "x"}}).Err())
		require.NoError(t, admit(t, g, 1, true, 200, 8).Err)
		s := NewStream(g)
		entries, err := s.Read(ctx, 0, 10, 0)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		require.Contains(t, entries[1].Malformed, "order")
		require.Zero(t, entries[1].Order)

		for range 2 {
			require.NoError(t, s.Bury(ctx, entries[0], "the database refuses it"))
			require.NoError(t, s.Bury(ctx, entries[1], entries[1].Malformed))
		}
		require.NoError(t, s.Drop(ctx, 0, entries[2:]))
		require.NoError(t, s.Drop(ctx, 0, nil))
		d, err := s.Depth(ctx)
		require.NoError(t, err)
		require.Equal(t, service.QueueDepth{Dead: 2}, d)

		letters, err := g.ListDead(ctx, 0, 1, "")
		require.NoError(t, err)
		require.Len(t, letters, 1)
		require.Equal(t, unit(100, 1, 1), letters[0].Unit)
		require.Equal(t, "the database refuses it", letters[0].Reason)
		rest, err := g.ListDead(ctx, 0, 10, letters[0].ID)
		require.NoError(t, err)
		require.Len(t, rest, 1)
		require.Equal(t, map[string]string{"order": "x"}, rest[0].Raw)
		require.Zero(t, rest[0].Order)
		require.NoError(t, g.RemoveDead(ctx, 0, letters[0].ID, rest[0].ID))
		require.NoError(t, g.RemoveDead(ctx, 0))
		d, err = s.Depth(ctx)
		require.NoError(t, err)
		require.Zero(t, d)
	})
}

func TestStreamDepth(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 10)
		old := time.Now().Add(-time.Hour).UnixMilli()
		require.NoError(t, rdb.XAdd(t.Context(), &redis.XAddArgs{
			Stream: g.keys.stream(0), ID: strconv.FormatInt(old, 10) + "-0", Values: []string{"order", "5"},
		}).Err())
		admitted(t, g, 2)
		d, err := NewStream(g).Depth(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(3), d.Messages)
		require.InDelta(t, time.Hour.Seconds(), d.Oldest.Seconds(), 60)
	})
}

// A consumer that leaves with unacknowledged messages would lose them, so it stays in the group.
func TestStreamLeave(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		g := preheated(t, rdb, 1, 10)
		s, idle := NewStream(g), NewStream(g)
		require.NoError(t, s.Leave(ctx, 0), "there is no stream yet")
		admitted(t, g, 1)
		_, err := idle.Read(ctx, 0, 1, 0)
		require.NoError(t, err)
		claimed, err := s.Claim(ctx, 0, 1, 0)
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		require.NoError(t, s.Leave(ctx, time.Hour))
		require.ElementsMatch(t, []string{s.Consumer(), idle.Consumer()}, consumers(t, rdb))

		// Any idle time: miniredis says -1 ms of a consumer that has only read.
		require.NoError(t, s.Leave(ctx, -time.Second), "takes the other, idle one with it")
		require.Equal(t, []string{s.Consumer()}, consumers(t, rdb))
		require.NoError(t, s.Finish(ctx, 0, claimed))
		require.NoError(t, s.Leave(ctx, time.Hour))
		require.Empty(t, consumers(t, rdb))
	})
}
