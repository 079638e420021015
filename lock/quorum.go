package lock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// ErrNoQuorum: too few nodes of a quorum lock could be reached to know whether the lock is free.
var ErrNoQuorum = errors.New("lock: too few nodes answered")

// quorum is the store of a lock in several nodes.
type quorum struct {
	o        Options
	bg       *background
	nodes    []*node
	majority int
}

// errSlow: a majority of nodes answered, but too late to count.
var errSlow = errors.New("too few nodes answered in time")

// acquire returns as soon as the outcome is certain. Who votes late, or fails to, is dealt with behind: by the release
// when the lock is ours, else at once.
func (q *quorum) acquire(_ context.Context, c claim) (reply, error) {
	votes := poll(q, func(ctx context.Context, n *node) (reply, error) {
		r, _, err := insist(ctx, q, func(ctx context.Context) (reply, error) { return n.acquire(ctx, c) })
		return r, err
	})
	t := tally{q: q}
	for !t.acquired() && !t.refused() && t.hear(votes) {
	}
	if t.acquired() {
		return reply{held: true}, nil
	}
	q.withdraw(c)
	if t.answered() {
		return reply{freeIn: t.freeIn()}, nil
	}
	// Too late to count, a vote still tells a slow majority from an unreachable one.
	votes.extend(q.o.NodeTimeout)
	for t.missing() > 0 && !t.answered() && t.hear(votes) {
	}
	if t.answered() {
		return reply{}, t.failure(errSlow)
	}
	return reply{}, t.failure(ErrNoQuorum)
}

// hear counts the next vote on an acquire; false: the time is over.
func (t *tally) hear(votes *ballot[reply]) bool {
	v, ok := votes.next()
	if !ok {
		return false
	}
	answer := gone
	switch {
	case v.val.held:
		answer = kept
	case v.err == nil:
		t.lapses = append(t.lapses, v.val.freeIn)
	}
	t.add(v.node, answer, v.err)
	return true
}

// freeIn is when so many of those who refused have lapsed that a majority is free; 0 not known, negative never. Fewer
// refusals than a majority are the traces of another attempt, not of a holder, and go soon.
func (t *tally) freeIn() time.Duration {
	if t.no < t.q.majority {
		return pollMin
	}
	slices.SortFunc(t.lapses, func(a, b time.Duration) int { // never comes last
		return cmp.Compare(uint64(a), uint64(b))
	})
	return t.lapses[t.q.majority-t.yes-1]
}

// unlock says kept when the lock was ours on a majority, gone when it can't have been, doubtful when it may have been
// until an earlier copy. In between is an error, and the caller asks again. Nodes that don't answer are asked again
// behind.
func (q *quorum) unlock(_ context.Context, c claim) (verdict, error) {
	for _, n := range q.nodes {
		n.trail(c).withdraw()
	}
	votes := poll(q, func(ctx context.Context, n *node) (verdict, error) {
		v, doubt, err := insist(ctx, q, func(ctx context.Context) (verdict, error) { return n.unlock(ctx, c) })
		if err != nil {
			n.forget(c.owed())
		}
		if v == gone && doubt {
			v = doubtful
		}
		return v, err
	})
	t := tally{q: q}
	for t.missing() > 0 && !t.acquired() && !t.lost() {
		v, ok := votes.next()
		if !ok {
			break
		}
		t.add(v.node, v.val, v.err)
	}
	switch {
	case t.acquired() && t.yes-t.doubt < q.majority:
		return doubtful, nil
	case t.acquired():
		return kept, nil
	case t.lost():
		return gone, nil
	}
	why := errNoAnswer
	if t.missing() == 0 && !slices.ContainsFunc(t.errs, func(err error) bool { return !answered(err) }) {
		why = ErrNoQuorum // nobody is left who could answer otherwise
	}
	return unknown, t.failure(why)
}

// renew asks every node for the whole batch and counts for each lease. It returns when a majority has decided on all of
// them; the command to a slow node has its outcome behind.
func (q *quorum) renew(_ context.Context, batch []claim) []verdict {
	votes := poll(q, func(ctx context.Context, n *node) ([]verdict, error) { return n.renew(ctx, batch), nil })
	yes, no := make([]int, len(batch)), make([]int, len(batch))
	all := make([]verdict, len(batch))
	for range q.nodes {
		vote, ok := votes.next()
		if !ok {
			break
		}
		for i, v := range vote.val {
			switch v {
			case kept:
				yes[i]++
			case gone:
				no[i]++
			}
			switch {
			case yes[i] >= q.majority:
				all[i] = kept
			case no[i] > len(q.nodes)-q.majority:
				all[i] = gone
			}
		}
		if !slices.Contains(all, unknown) {
			break
		}
	}
	return all
}

func (q *quorum) withdraw(c claim) {
	for _, n := range q.nodes {
		n.withdraw(c)
	}
}

func (q *quorum) forget(d debt) {
	for _, n := range q.nodes {
		n.forget(d)
	}
}

func (q *quorum) size() int { return len(q.nodes) }
