package lock

import (
	"context"
	"testing"
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
