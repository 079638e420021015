package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A waiter that goes before the server was asked for its channel must not keep the connection alive.
func TestALineLeftAtOnceEnds(t *testing.T) {
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer rdb.Close()
	bg := newBackground()
	s := newSignals(bg, rdb)
	p := s.newTurn("lock:{k}").(*place)
	s.mu.Lock() // so that the connection's goroutine looks only when the waiter has gone
	p.wake, p.channel, p.line = make(chan struct{}, 1), channelOf(p.name), &line{}
	s.lines[p.channel] = p.line
	p.line.queue = append(p.line.queue, p)
	s.subs[0].start(p.channel)
	p.line.queue = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, bg.wait(ctx), "the goroutine ends without Close")
	require.NoError(t, bg.close(ctx))
}

// Who becomes the first in line because the one before has won hears nothing when the winner's lease lapses: it must
// look by itself when that is due, not when those behind the first would.
func TestTheNextInLineKnowsTheWinnersLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignals(newBackground())
		winner, next := s.newTurn("lock:{k}").(*place), s.newTurn("lock:{k}").(*place)
		winner.join()
		tries := make(chan time.Time)
		go func() {
			for range 2 {
				if next.next(t.Context(), 0) != nil {
					break
				}
				tries <- time.Now()
			}
			close(tries)
		}()
		synctest.Wait()
		lapses := time.Now().Add(500 * time.Millisecond)
		winner.got(lapses)
		winner.leave()
		require.WithinDuration(t, lapses, <-tries, 10*time.Millisecond)
		require.WithinDuration(t, time.Now().Add(fallbackMax), <-tries, fallbackMax-fallbackMin, "as the first")
		next.leave()
	})
}
