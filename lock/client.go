package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client makes the locks that live in one Redis (a server, a sentinel group or a cluster). Lockers of one Client share
// one subscription for waiting, one goroutine for renewals, one for cleaning up and one timer for their leases' deadlines;
// each starts on its first use. A Client is safe for concurrent use.
type Client struct {
	rdb     redis.UniversalClient
	o       Options
	bg      *background
	signals *signals
	node    *node
	renewer *renewer
}

// New makes a Client on rdb, which stays the caller's to close, after the Client. It starts nothing and sends nothing. A
// cluster's client should have a ReadTimeout: without one, what is sent to a silent server leaves a goroutine until its
// connection breaks. Hooks of rdb do not see every command: those that need shorter time-outs go through
// redis.Client.WithTimeout, which leaves the hooks behind. What becomes of leases is told to Options.Observer.
func New(rdb redis.UniversalClient, o Options) *Client {
	o = o.withDefaults()
	bg := newBackground()
	timed := limited(rdb, o)
	c := &Client{rdb: rdb, o: o, bg: bg, signals: newSignals(bg, timed), node: newNode(timed, o, bg)}
	c.renewer = newRenewer(o, bg, c.node)
	return c
}

// Close ends all live leases with ErrClosed, without freeing them, and waits for the client's goroutines and for calls of
// Acquire and Release that are on their way, at most until ctx ends. Leases can still be released afterwards, but a key
// that such a release can't reach in its time is left to its TTL; an Acquire is refused with ErrClosed.
func (c *Client) Close(ctx context.Context) error { return c.bg.close(ctx) }

// simple makes a locker that polls and promises nothing beyond its algorithm.
func (c *Client) simple(kind string, alg algorithm) *locker {
	return &locker{kind: kind, prefix: braces.Replace(c.o.Prefix), o: c.o, alg: alg, bg: c.bg}
}
