package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Quorum is Redlock: one lock in several independent Redis servers, held by who holds it in more than half of them.
// It survives the loss of a minority. It is renewed as Watchdog is. It is still a lease without a fence: a paused
// holder may come too late, and clocks that jump on several nodes at once let two in.
//
// The article asks the nodes one after the other. Here all are asked at once, so that a frozen one costs nobody
// anything: the answer is there as soon as a majority has given it, and each node has a time-out of its own. Who waits
// listens to the messages of all nodes and tries a random moment after one, so that waiters do not split the votes.
//
// As a release, too, returns at a majority, another node may be free a moment later. An attempt right behind it that
// meets a second late node is refused although nobody holds the lock: with Options.Wait it is made again, without one
// it is an ErrBusy.
type Quorum struct {
	*locker
}

// NewQuorum makes the lock on nodes, which stay the caller's to close. They must be independent servers, not replicas
// of each other, and an odd number is best: 2n+1 of them survive the loss of n. It starts nothing and sends nothing.
// Hooks of the nodes do not see its commands, see New.
func NewQuorum(nodes []redis.UniversalClient, o Options) (*Quorum, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: needs Resources.Nodes", ErrInvalid)
	}
	o = o.withDefaults()
	o.MinReplicas = 0
	bg := newBackground()
	q := &quorum{o: o, bg: bg, majority: len(nodes)/2 + 1}
	quick := make([]redis.UniversalClient, len(nodes))
	for i, rdb := range nodes {
		quick[i] = bounded(rdb, o.NodeTimeout)
		n := newNode(quick[i], o, bg)
		n.at = i
		q.nodes = append(q.nodes, n)
	}
	alg := newLeased(o, bg, q)
	alg.copies = 1 // a node that did not answer does not vote
	l := &locker{kind: "redlock", prefix: braces.Replace(o.Prefix), o: o, alg: alg, bg: bg}
	l.reentry, l.guarded, l.renewer, l.signals = reentryLocal, true, newRenewer(o, bg, q), newSignals(bg, quick...)
	l.deaf = 2 * o.NodeTimeout // as long as an attempt may need to find out
	return &Quorum{l}, nil
}

// Close is as Client.Close.
func (q *Quorum) Close(ctx context.Context) error { return q.bg.close(ctx) }

// bounded makes a plain client give up soon after the node's time-out, so that a frozen node does not pile up
// connections. Not at once: an answer that is a little late tells what became of the command, and a busy node would
// only get busier by a new connection for every late answer.
func bounded(rdb redis.UniversalClient, d time.Duration) redis.UniversalClient {
	if plain, ok := rdb.(*redis.Client); ok {
		return plain.WithTimeout(d + max(d, settleGrace))
	}
	return rdb
}
