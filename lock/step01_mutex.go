package lock

import (
	"context"
	"sync"
)

// mutex is a mutual exclusion per key inside one process: Java's synchronized(userId.intern()).
//
// It keeps exclusion inside the process, and forgets a key as soon as nobody wants it.
// It breaks with the second process, which has a table of its own: two holders meet.
func mutex(o Options, bg *background) Locker {
	t := &table{waits: o.Wait != 0, closed: bg.open.Done(), entries: map[string]*entry{}}
	return &locker{kind: "mutex", o: o, bg: bg, alg: t}
}

// table is the shared table of mutexes.
type table struct {
	waits   bool
	closed  <-chan struct{}
	mu      sync.Mutex
	entries map[string]*entry
}

// entry is one key's mutex. It counts its users, so that it goes away with the last one. The mutex is a channel with
// room for one holder, because a channel can be waited for together with a context, which sync.Mutex cannot.
type entry struct {
	users  int
	holder chan struct{}
}

func (t *table) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	e := t.enter(key)
	select {
	case e.holder <- struct{}{}:
		return grant{held: true}, nil
	default:
	}
	if !t.waits {
		t.leave(key, e)
		return grant{}, nil
	}
	select {
	case e.holder <- struct{}{}:
		return grant{held: true}, nil
	case <-t.closed:
		t.leave(key, e)
		return grant{}, ErrClosed
	case <-ctx.Done():
		t.leave(key, e)
		return grant{}, nil // the holder was there all the time: busy, not silent
	}
}

func (t *table) release(_ context.Context, r *removal) error {
	t.mu.Lock()
	e := t.entries[r.key]
	t.mu.Unlock()
	r.sending()
	<-e.holder
	t.leave(r.key, e)
	return r.reply(1, nil)
}

func (t *table) abandon(*ownership) {}

func (t *table) enter(key string) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[key]
	if e == nil {
		e = &entry{holder: make(chan struct{}, 1)}
		t.entries[key] = e
	}
	e.users++
	return e
}

func (t *table) leave(key string, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(t.entries, key)
	}
}
