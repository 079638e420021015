package lock

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// vote is one node's answer, or why it has none.
type vote[T any] struct {
	node int
	val  T
	err  error
}

// ballot is one question to all nodes, each on a goroutine of its own. Whoever counts the votes may stop at any moment:
// the channel has room for all of them.
type ballot[T any] struct {
	votes chan vote[T]
	timer *time.Timer
	over  bool // the nodes' time is
}

// poll asks every node. A node has Options.NodeTimeout to send its vote; the command may still have its outcome later.
func poll[T any](q *quorum, ask func(ctx context.Context, n *node) (T, error)) *ballot[T] {
	b := &ballot[T]{votes: make(chan vote[T], len(q.nodes)), timer: time.NewTimer(q.o.NodeTimeout)}
	for i, n := range q.nodes {
		q.bg.run(func() {
			ctx, cancel := context.WithTimeout(context.Background(), q.o.NodeTimeout)
			defer cancel()
			val, err := ask(ctx, n)
			b.votes <- vote[T]{i, val, err}
		})
	}
	return b
}

// next is another vote; false: the time is over. A vote that lies there counts, also when the time is over: this
// process may have been the slow one.
func (b *ballot[T]) next() (v vote[T], ok bool) {
	if !b.over {
		select {
		case v = <-b.votes:
			return v, true
		case <-b.timer.C:
			b.over = true
		}
	}
	select {
	case v = <-b.votes:
		return v, true
	default:
		return v, false
	}
}

// extend gives the nodes more time.
func (b *ballot[T]) extend(d time.Duration) {
	b.timer.Reset(d)
	b.over = false
}

// insist sends again to a node whose connection broke, as long as ctx lasts: one node's vote should not be lost with a
// connection. doubt says that a copy went without an answer and may have worked, or work still.
func insist[T any](ctx context.Context, q *quorum, send func(ctx context.Context) (T, error)) (val T, doubt bool, err error) {
	for again := time.Millisecond; ; again = min(2*again, insistMax) {
		if val, err = send(ctx); answered(err) || ctx.Err() != nil {
			return val, doubt, err
		}
		doubt = doubt || !concluded(err)
		if pause(ctx, q.bg.ctx.Done(), again) != nil {
			return val, doubt, err
		}
	}
}

const insistMax = 16 * time.Millisecond // between two copies to a node that is down

// tally counts votes of yes and no.
type tally struct {
	q       *quorum
	yes, no int
	doubt   int // of the yes
	heard   []int
	lapses  []time.Duration // when the keys of those lapse who said no
	errs    []error
}

func (t *tally) add(node int, v verdict, err error) {
	t.heard = append(t.heard, node)
	switch {
	case err != nil:
		t.errs = append(t.errs, fmt.Errorf("node %d: %w", node, err))
	case v == kept:
		t.yes++
	case v == doubtful:
		t.yes++
		t.doubt++
	default:
		t.no++
	}
}

// missing is how many nodes have not voted.
func (t *tally) missing() int { return len(t.q.nodes) - len(t.heard) }

// acquired: a majority said yes.
func (t *tally) acquired() bool { return t.yes >= t.q.majority }

// lost: so many said no that there can't be a majority of yes.
func (t *tally) lost() bool { return t.no > len(t.q.nodes)-t.q.majority }

// answered: a majority said yes or no.
func (t *tally) answered() bool { return t.yes+t.no >= t.q.majority }

// refused: no majority of yes is possible any more, and it is as clear as it can become whether the lock is busy or the
// nodes are down.
func (t *tally) refused() bool {
	return t.yes+t.missing() < t.q.majority && (t.answered() || t.missing() == 0)
}

// failure is what went wrong with which node.
func (t *tally) failure(why error) error {
	err := fmt.Errorf("%w: %d of %d", why, t.yes+t.no, len(t.q.nodes))
	for i := range t.q.nodes {
		if !slices.Contains(t.heard, i) {
			err = fmt.Errorf("%w; node %d: %w", err, i, errNoAnswer)
		}
	}
	for _, e := range t.errs {
		err = fmt.Errorf("%w; %w", err, e)
	}
	return err
}
