package locktest

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

// Actor is one process with the lock under test.
type Actor struct {
	w       *World
	l       Locker
	clients []*redis.Client
}

// process opens the lock in another process.
func (w *World) process(change ...func(*lock.Options)) *Actor {
	return w.processVia(nil, func(*redis.Options) {}, change...)
}

// behind opens it with a proxy in front of every server.
func (w *World) behind(change ...func(*lock.Options)) *Actor {
	return w.processVia(w.proxied(), func(*redis.Options) {}, change...)
}

func (w *World) processVia(proxies []*Proxy, client func(*redis.Options), change ...func(*lock.Options)) *Actor {
	a := &Actor{w: w}
	var nodes []redis.UniversalClient
	for i, s := range w.servers {
		o := &redis.Options{Addr: s.Addr}
		if proxies != nil {
			o.Addr = proxies[i].Addr()
		}
		client(o)
		a.clients = append(a.clients, redis.NewClient(o))
		nodes = append(nodes, a.clients[i])
	}
	l, err := w.make(lock.Resources{Redis: nodes[0], Nodes: nodes}, w.options(change...))
	must(err)
	a.l = l
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actors = append(w.actors, a)
	return a
}

func (a *Actor) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = a.l.Close(ctx)
	a.die()
}

// die breaks the process off: its connections are gone, and nothing is released.
func (a *Actor) die() {
	for _, rdb := range a.clients {
		_ = rdb.Close()
	}
}

// acquire must succeed.
func (a *Actor) acquire(key string) Lease { return a.acquireIn(context.Background(), key) }

func (a *Actor) acquireIn(ctx context.Context, key string) Lease {
	l, err := a.l.Acquire(ctx, key)
	if err != nil {
		breakIt("acquire %q: %w", key, err)
	}
	return l
}

// isBusy must find the lock taken.
func (a *Actor) isBusy(key, why string) {
	l, err := a.l.Acquire(context.Background(), key)
	if l != nil {
		_ = l.Release(context.Background())
	}
	if !errors.Is(err, lock.ErrBusy) {
		breakIt("%s: another caller got %v, want busy", why, err)
	}
}

// release must succeed.
func release(l Lease) {
	if err := l.Release(context.Background()); err != nil {
		breakIt("release: %w", err)
	}
}

// waiter acquires key in the background and hands the lease out, nil when it failed.
func (a *Actor) waiter(key string) <-chan Lease {
	got := make(chan Lease, 1)
	go func() {
		l, _ := a.l.Acquire(context.Background(), key)
		got <- l
	}()
	return got
}

// warm makes the servers know the scripts, so that later commands are one message each. It tries again where a slow
// machine is too slow for the options of a law that has not begun.
func (a *Actor) warm() {
	eventually(patience, func() bool {
		l, err := a.l.Acquire(context.Background(), "warm up")
		return err == nil && l.Release(context.Background()) == nil
	}, "warm")
	for _, p := range a.w.proxies {
		p.Seen()
	}
}
