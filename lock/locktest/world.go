package locktest

import (
	"crypto/rand"
	"slices"
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

const (
	patience  = 15 * time.Second // for what must happen: far beyond every bound
	closeTime = time.Second      // for what an actor still owes when its law is over

	nodeTimeout = 2 * time.Second // of a quorum: one that a busy machine keeps
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
	o := lock.Options{Prefix: w.prefix, TTL: 30 * time.Second, NodeTimeout: nodeTimeout}
	for _, f := range change {
		f(&o)
	}
	return o
}

func ttl(d time.Duration) func(*lock.Options)  { return func(o *lock.Options) { o.TTL = d } }
func wait(d time.Duration) func(*lock.Options) { return func(o *lock.Options) { o.Wait = d } }

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

func (w *World) admin(f func(rdb *redis.Client)) {
	for _, rdb := range w.admins {
		f(rdb)
	}
}
