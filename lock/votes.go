package lock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// vote is one node's answer, or its failure to answer in time.
type vote[T any] struct {
	node int
	val  T
	err  error
}

// poll asks every node, each on a goroutine of its own. The channel has room for all votes, so that nobody needs to
// wait for the last one. A node's time-out is a vote; the command may then still have its outcome.
func poll[T any](q *quorum, ask func(ctx context.Context, n *node) (T, error)) <-chan vote[T] {
	votes := make(chan vote[T], len(q.nodes))
	for i, n := range q.nodes {
		q.bg.run(func() {
			ctx, cancel := context.WithTimeout(context.Background(), q.o.NodeTimeout)
			var once sync.Once
			cast := func(v vote[T]) { once.Do(func() { votes <- v }) }
			stop := context.AfterFunc(ctx, func() {
				var none T
				cast(vote[T]{i, none, fmt.Errorf("node %d: %w", i, errNoAnswer)})
			})
			val, err := ask(ctx, n)
			cast(vote[T]{i, val, err})
			stop()
			cancel()
		})
	}
	return votes
}

// insist sends again to a node whose connection broke, as long as ctx lasts: one node's vote should not be lost with a
// connection. doubt says that a copy went without an answer and may have worked, or work still.
func insist[T any](ctx context.Context, q *quorum, send func(ctx context.Context) (T, error)) (val T, doubt bool, err error) {
	for {
		if val, err = send(ctx); answered(err) || ctx.Err() != nil {
			return val, doubt, err
		}
		doubt = true
		if pause(ctx, q.bg.ctx.Done(), time.Millisecond) != nil {
			return val, doubt, err
		}
	}
}

// tally counts votes of yes and no.
type tally struct {
	q             *quorum
	yes, no, seen int
	doubt         int // of the yes
	errs          []error
}

func (t *tally) add(v verdict, err error) {
	t.seen++
	switch {
	case err != nil:
		t.errs = append(t.errs, err)
	case v == kept:
		t.yes++
	case v == doubtful:
		t.yes++
		t.doubt++
	default:
		t.no++
	}
}

// acquired: a majority said yes.
func (t *tally) acquired() bool { return t.yes >= t.q.majority }

// lost: so many said no that there can't be a majority of yes.
func (t *tally) lost() bool { return t.no > len(t.q.nodes)-t.q.majority }

// refused: no majority of yes is possible any more, and it is as clear as it can become whether the lock is busy or the
// nodes are down.
func (t *tally) refused() bool {
	left := len(t.q.nodes) - t.seen
	return t.yes+left < t.q.majority && (t.yes+t.no >= t.q.majority || left == 0)
}

// ballot remembers of one acquire which nodes have answered. The others may still create the key.
type ballot struct {
	q     *quorum
	votes <-chan vote[verdict]
	until time.Time // afterwards no copy can leave a key

	mu      sync.Mutex
	seen    int
	granted []int
	unclear []bool // by node
	heard   map[int]bool
}

func (b *ballot) add(v vote[verdict]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(v)
}

func (b *ballot) note(v vote[verdict]) {
	b.seen++
	if b.heard == nil {
		b.heard = map[int]bool{}
	}
	b.heard[v.node] = true
	if v.val == kept || v.val == doubtful {
		b.granted = append(b.granted, v.node)
	}
	b.unclear[v.node] = v.val == doubtful || !answered(v.err)
}

// isUnclear says whether node may still execute the acquire.
func (b *ballot) isUnclear(node int) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		select {
		case v := <-b.votes:
			b.note(v)
			continue
		default:
		}
		return !b.heard[node] || b.unclear[node]
	}
}

// takeBack waits for the rest of the votes of an attempt that came to nothing and removes what it left.
func (b *ballot) takeBack(c claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.seen < len(b.q.nodes) {
		b.note(<-b.votes)
	}
	for _, i := range b.granted {
		b.q.nodes[i].forget(debt{claim: c, until: b.until})
	}
	for i, unclear := range b.unclear {
		if unclear {
			b.q.nodes[i].forget(debt{claim: c, until: b.until, copies: 1})
		}
	}
}
