package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoQuorum: too few nodes of a quorum lock answered to know whether the lock is free.
var ErrNoQuorum = errors.New("lock: too few nodes answered")

// quorum is the store of a lock in several nodes.
type quorum struct {
	o        Options
	bg       *background
	nodes    []*node
	majority int
}

// acquire returns as soon as the outcome is certain. Who votes late is dealt with behind: by the release when the lock
// is ours, else at once.
func (q *quorum) acquire(_ context.Context, c claim) (reply, error) {
	until := time.Now().Add(c.ttl)
	votes := poll(q, func(ctx context.Context, n *node) (verdict, error) {
		r, doubt, err := insist(ctx, q, func(ctx context.Context) (reply, error) { return n.acquire(ctx, c) })
		switch {
		case r.held && doubt:
			return doubtful, err
		case r.held:
			return kept, err
		}
		return gone, err
	})
	b := &ballot{q: q, votes: votes, until: until, unclear: make([]bool, len(q.nodes))}
	t := tally{q: q}
	for !t.acquired() && !t.refused() {
		v := <-votes
		t.add(v.val, v.err)
		b.add(v)
	}
	if t.acquired() {
		return reply{held: true, ballot: b}, nil
	}
	q.bg.run(func() { b.takeBack(c) })
	if t.yes+t.no < q.majority {
		return reply{}, fmt.Errorf("%w: %w", ErrNoQuorum, errors.Join(t.errs...))
	}
	return reply{}, nil
}

// unlock says kept when the lock was ours on a majority, gone when it can't have been, doubtful when it may have been
// until an earlier copy. In between is an error, and the caller asks again. Nodes that don't answer are asked again
// behind.
func (q *quorum) unlock(_ context.Context, c claim) (verdict, error) {
	for i, n := range q.nodes {
		if c.ballot.isUnclear(i) {
			n.forget(debt{claim: c, until: c.ballot.until, copies: 1})
		}
	}
	votes := poll(q, func(ctx context.Context, n *node) (verdict, error) {
		v, doubt, err := insist(ctx, q, func(ctx context.Context) (verdict, error) { return n.unlock(ctx, c) })
		if err != nil {
			n.forget(debt{claim: c, until: time.Now().Add(c.ttl)})
		}
		if v == gone && doubt {
			v = doubtful
		}
		return v, err
	})
	t := tally{q: q}
	for t.seen < len(q.nodes) && !t.acquired() && !t.lost() {
		v := <-votes
		t.add(v.val, v.err)
	}
	switch {
	case t.acquired() && t.yes-t.doubt < q.majority:
		return doubtful, nil
	case t.acquired():
		return kept, nil
	case t.lost():
		return gone, nil
	}
	return unknown, errors.Join(append(t.errs, errNoAnswer)...)
}

// renew asks every node for the whole batch and counts for each lease.
func (q *quorum) renew(_ context.Context, batch []claim) []verdict {
	votes := poll(q, func(ctx context.Context, n *node) ([]verdict, error) { return n.renew(ctx, batch), nil })
	yes, no := make([]int, len(batch)), make([]int, len(batch))
	for range q.nodes {
		for i, v := range (<-votes).val {
			switch v {
			case kept:
				yes[i]++
			case gone:
				no[i]++
			}
		}
	}
	all := make([]verdict, len(batch))
	for i := range batch {
		switch {
		case yes[i] >= q.majority:
			all[i] = kept
		case no[i] > len(q.nodes)-q.majority:
			all[i] = gone
		}
	}
	return all
}

// forget is for all nodes; who has not voted yet may do so later.
func (q *quorum) forget(d debt) {
	for i, n := range q.nodes {
		d := d
		if d.ballot.isUnclear(i) {
			d.copies = max(d.copies, 1)
		}
		n.forget(d)
	}
}
