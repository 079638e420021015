package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// background owns what Close has to deal with: the goroutines and the calls that send commands, which it waits for, and
// the live leases, which it ends.
type background struct {
	ctx  context.Context // ends when Close gives up waiting, or has nothing left to wait for
	stop context.CancelFunc

	open context.Context // ends with Close: long-lived goroutines return
	shut context.CancelFunc

	mu   sync.Mutex
	n    int           // goroutines and calls
	idle chan struct{} // made by Close, closed when n is 0
	live map[*ownership]struct{}

	deadlines deadlines // of the live ones

	brief atomic.Pointer[brief] // the last that was made
}

func newBackground() *background {
	b := &background{live: map[*ownership]struct{}{}}
	b.open, b.shut = context.WithCancel(context.Background())
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// enter begins a call that Close waits for until it is done; false when the client is closed.
func (b *background) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Err() != nil {
		return false
	}
	b.n++
	return true
}

// hold is enter for what is allowed after Close too.
func (b *background) hold() {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
}

// run starts f on a goroutine that Close waits for.
func (b *background) run(f func()) {
	b.hold()
	go func() {
		defer b.done()
		f()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// add notes a live ownership, which ends at its deadline from now on; false when the client is closed.
func (b *background) add(o *ownership) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Err() != nil {
		return false
	}
	if o.over() {
		return true // it is too late to forget it
	}
	b.live[o] = struct{}{}
	if until := o.guardedUntil(); !until.IsZero() {
		b.deadlines.watch(b, until)
	}
	return true
}

func (b *background) remove(o *ownership) {
	b.mu.Lock()
	delete(b.live, o)
	b.mu.Unlock()
}

// close ends the live leases with ErrClosed and waits until ctx ends for the goroutines and the calls.
func (b *background) close(ctx context.Context) error {
	b.mu.Lock()
	b.shut()
	live := b.live
	b.live = map[*ownership]struct{}{}
	b.mu.Unlock()
	for o := range live {
		o.end(ErrClosed)
	}
	b.deadlines.stop()
	defer b.stop()
	return b.wait(ctx)
}

func (b *background) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.n == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// brief is a context that calls share: a timer for each of them would cost as much as the command.
type brief struct {
	context.Context
	until time.Time // calls begin with it
}

// moment is a context that ends between d and 2d after now. All callers mean the same d.
func (b *background) moment(now time.Time, d time.Duration) context.Context {
	m := b.brief.Load()
	if m == nil || now.After(m.until) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(2*d, cancel)
		m = &brief{ctx, now.Add(d)}
		b.brief.Store(m)
	}
	return m
}

// valuesOf is a context that lives as long as its first part and has the values of its second: commands that outlive
// a caller's ctx still carry its trace.
type valuesOf struct {
	context.Context
	values context.Context
}

func (c valuesOf) Value(key any) any { return c.values.Value(key) }

// withValues is life with the values of another context.
func withValues(life, values context.Context) context.Context {
	if values == context.Background() { // it has none, and most callers in a loop have it
		return life
	}
	return valuesOf{life, values}
}
