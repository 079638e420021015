package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

// World is where one law runs: servers, proxies, and the clients that it opens. Its keys have a prefix of their own.
type World struct {
	make    Open
	servers []*Server
	prefix  string

	mu      sync.Mutex
	proxies []*Proxy
	admins  []*redis.Client
	actors  []*Actor
	last    []func()
}

// Actor is one process with the lock under test.
type Actor struct {
	w       *World
	l       Locker
	clients []*redis.Client
}

const (
	patience  = 15 * time.Second // for what must happen: far beyond every bound
	closeTime = time.Second      // for what an actor still owes when its law is over
)

func newWorld(open Open, servers []*Server) *World {
	w := &World{make: open, servers: servers, prefix: rand.Text()[:8] + ":"}
	for _, s := range servers {
		w.admins = append(w.admins, s.Client())
	}
	return w
}

// isolate gives the world servers of its own.
func (w *World) isolate() {
	servers, err := start(len(w.servers))
	w.atEnd(func() { stopAll(servers) })
	must(err)
	w.servers = servers
	for i, s := range servers {
		_ = w.admins[i].Close()
		w.admins[i] = s.Client()
	}
}

// must ends the law when its own machinery fails.
func must(err error) {
	if err != nil {
		breakIt("locktest itself: %w", err)
	}
}

// end closes what the law has left open.
func (w *World) end() {
	for _, a := range w.actors {
		a.close()
	}
	for _, rdb := range w.admins {
		_ = rdb.Close()
	}
	for _, f := range slices.Backward(w.last) {
		f()
	}
}

func (w *World) atEnd(f func()) { w.last = append(w.last, f) }

// options are those of most laws: a TTL that nobody waits for, and a node's time-out that a busy machine keeps.
func (w *World) options(change ...func(*lock.Options)) lock.Options {
	o := lock.Options{Prefix: w.prefix, TTL: 30 * time.Second, NodeTimeout: time.Second}
	for _, f := range change {
		f(&o)
	}
	return o
}

func ttl(d time.Duration) func(*lock.Options)  { return func(o *lock.Options) { o.TTL = d } }
func wait(d time.Duration) func(*lock.Options) { return func(o *lock.Options) { o.Wait = d } }

// process opens the lock in another process.
func (w *World) process(change ...func(*lock.Options)) *Actor {
	return w.processVia(nil, func(*redis.Options) {}, change...)
}

// behind opens it with a proxy in front of every server.
func (w *World) behind(change ...func(*lock.Options)) *Actor {
	return w.processVia(w.proxied(), func(*redis.Options) {}, change...)
}

func (w *World) proxied() []*Proxy {
	if w.proxies == nil {
		for _, s := range w.servers {
			p, err := newProxy(s.Addr)
			must(err)
			w.atEnd(p.stop)
			w.proxies = append(w.proxies, p)
		}
	}
	return w.proxies
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

// warm makes the servers know the scripts, so that later commands are one message each.
func (a *Actor) warm() {
	release(a.acquire("warm up"))
	for _, p := range a.w.proxies {
		p.Seen()
	}
}

// inject makes f happen on every server.
func (w *World) inject(f Fault) {
	for _, p := range w.proxied() {
		p.Inject(f)
	}
}

func (w *World) heal() {
	for _, p := range w.proxied() {
		p.Heal()
	}
}

// commands is how many commands the servers got through the proxies since the last call.
func (w *World) commands() int {
	n := 0
	for _, p := range w.proxied() {
		n += len(p.Seen())
	}
	return n
}

// keys lists the locks that exist; what only remembers the last fence is none.
func (w *World) keys() []string {
	var all []string
	for _, rdb := range w.admins {
		found, err := rdb.Keys(context.Background(), w.prefix+"*").Result()
		must(err)
		all = append(all, slices.DeleteFunc(found, func(k string) bool { return strings.HasSuffix(k, ":fence") })...)
	}
	return all
}

// name is the key of the only lock that exists. Its holder has a majority of nodes; the others follow.
func (w *World) name() string {
	var keys []string
	eventually(patience, func() bool { keys = w.keys(); return len(keys) == len(w.servers) }, "a key on every server")
	return keys[0]
}

// lose removes the only lock's keys by hand.
func (w *World) lose() {
	keys := []string{w.name()}
	w.admin(func(rdb *redis.Client) { rdb.Del(context.Background(), keys...) })
}

func (w *World) admin(f func(rdb *redis.Client)) {
	for _, rdb := range w.admins {
		f(rdb)
	}
}

// eventually waits for what must come true; within is a bound far from what is expected.
func eventually(within time.Duration, f func() bool, format string, args ...any) {
	for deadline := time.Now().Add(within); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			breakIt("not within %v: "+format, append([]any{within}, args...)...)
		}
	}
}

// gone waits until no key is left.
func (w *World) gone(within time.Duration) {
	eventually(within, func() bool { return len(w.keys()) == 0 }, "every key removed")
}

// ended waits for the lease's context and returns its cause.
func ended(l Lease, within time.Duration) error {
	select {
	case <-l.Context().Done():
		return context.Cause(l.Context())
	case <-time.After(within):
		breakIt("the lease's context did not end within %v", within)
	}
	return nil
}

func want(ok bool, format string, args ...any) {
	if !ok {
		breakIt(format, args...)
	}
}

func wantErr(err, target error, format string, args ...any) {
	if !errors.Is(err, target) {
		breakIt(format+": got %w, want %v", append(args, err, target)...)
	}
}
