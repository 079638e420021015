package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	acquireScript       = load("acquire.lua")
	acquireFencedScript = load("acquire_fenced.lua")
	renewScript         = load("renew.lua")
	releaseScript       = load("release.lua")
)

// ErrReplicas: fewer than Options.MinReplicas replicas acknowledged the acquire in time.
var ErrReplicas = errors.New("lock: too few replicas acknowledged")

// claim is one token's hold on one key.
type claim struct {
	key, token string // key is the name in Redis
	ttl        time.Duration
	fenced     bool
	attempt    bool    // to lock several servers: the end of a part of it, which took some of them, is no release
	sent       []trail // of the acquire, for each server of the store
}

// verdict is a server's answer about a key: is it, or was it until this command, ours?
type verdict int

const (
	unknown verdict = iota // no answer
	kept
	gone     // the key is not ours
	doubtful // it is not, but may have been until a copy without an answer
)

// reply is a server's answer to an acquire.
type reply struct {
	held   bool
	fence  int64
	freeIn time.Duration // of a refusal
}

// store is where renewed locks live: one node or a quorum of them.
type store interface {
	acquire(ctx context.Context, c claim) (reply, error)
	renew(ctx context.Context, batch []claim) []verdict
	unlock(ctx context.Context, c claim) (verdict, error)
	// withdraw sends no further copy of c's acquire and sees behind the caller that none of them leaves a key.
	withdraw(c claim)
	// forget compares and deletes behind the caller, as long as d says; no further copy of the acquire is sent.
	forget(d debt)
	// size is the number of servers.
	size() int
}

// node is one Redis with the commands of the renewed locks. Commands are sent once; who calls may repeat them.
type node struct {
	rdb   redis.UniversalClient
	o     Options
	at    int // among the servers of the store
	sweep *sweeper
}

func newNode(rdb redis.UniversalClient, o Options, bg *background) *node {
	n := &node{rdb: rdb, o: o}
	n.sweep = newSweeper(bg, n)
	return n
}

// batchMost is how many commands go in one pipeline: a longer one would keep the server from other clients.
const batchMost = 256

// limited is rdb, but with time-outs where it has none: a command whose answer never comes must not stay out for ever,
// or every renewal and every clean-up of a silent server would leave a goroutine. A time-out that its owner chose stays,
// as do clients that go-redis can't give one.
func limited(rdb redis.UniversalClient, o Options) redis.UniversalClient {
	plain, ok := rdb.(*redis.Client)
	if !ok || plain.Options().ReadTimeout > 0 && plain.Options().WriteTimeout > 0 {
		return rdb
	}
	return plain.WithTimeout(o.TTL + max(settleGrace, o.ReplicaTimeout))
}

// within is the node with commands that return after d, whatever the options of its client; nil where go-redis has no
// such client, or where an answer may take longer by right.
func (n *node) within(d time.Duration) store {
	plain, ok := n.rdb.(*redis.Client)
	if !ok || n.o.MinReplicas > 0 {
		return nil
	}
	quick := *n
	quick.rdb = plain.WithTimeout(d)
	return &quick
}

// errWithdrawn: the acquire was given up before this copy of it was sent.
var errWithdrawn = errors.New("given up")

// acquire sends one copy, unless the acquire was withdrawn.
func (n *node) acquire(ctx context.Context, c claim) (reply, error) {
	t := n.trail(c)
	if !t.begin() {
		return reply{}, errWithdrawn
	}
	r, err := n.ask(ctx, c)
	if silent(err) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	uncounted := err != nil && (errors.Is(err, errYoung) || errors.Is(err, ErrReplicas)) // it was executed all the same
	if t.end(r.held || uncounted, concluded(err) || uncounted) {
		n.tidy(c)
	}
	return r, err
}

func (n *node) ask(ctx context.Context, c claim) (reply, error) {
	var cmd *redis.Cmd
	if c.fenced {
		words := acquireFencedScript.with(2, c.key, fenceOf(c.key), c.token, c.ttl.Milliseconds())
		if long := 2 * n.o.TTL; long > time.Hour { // which the script takes otherwise
			words = append(words, long.Milliseconds())
		}
		cmd = n.command(ctx, acquireFencedScript, c.key, words)
	} else {
		cmd = n.command(ctx, acquireScript, c.key, acquireScript.with(1, c.key, c.token, c.ttl.Milliseconds()))
	}
	switch v := cmd.Val().(type) {
	case string:
		fence, err := strconv.ParseInt(v, 10, 64)
		return reply{held: err == nil, fence: fence}, err
	case int64:
		return reply{freeIn: time.Duration(v) * time.Millisecond}, nil
	}
	if cmd.Err() == nil {
		return reply{}, fmt.Errorf("unexpected answer %v", cmd.Val())
	}
	return reply{}, cmd.Err()
}

// command sends an acquire with what the options add to it.
func (n *node) command(ctx context.Context, s script, key string, words []any) *redis.Cmd {
	switch {
	case n.o.MinReplicas > 0:
		return n.replicated(ctx, s, key, words)
	case n.o.RestartGrace > 0:
		return n.grown(ctx, s, words)
	}
	return s.sendOnce(ctx, n.rdb, words)
}

// unlock deletes the key if it is ours, wakes waiters, and says whether it was. What a copy of the acquire may still
// create is deleted behind.
func (n *node) unlock(ctx context.Context, c claim) (verdict, error) {
	t := n.trail(c)
	t.withdraw()
	was, err := releaseScript.sendOnce(ctx, n.rdb, releaseOf(c)).Int64()
	if err != nil {
		return unknown, err
	}
	v := gone
	if was == 1 {
		v = kept
	}
	if !t.settled(v) {
		n.forget(debt{claim: c, due: time.Now().Add(sweepFirst)})
	}
	return v, nil
}

// renew sends the batch in one pipeline.
func (n *node) renew(ctx context.Context, batch []claim) []verdict {
	if n.o.MinReplicas > 0 {
		return n.renewReplicated(ctx, batch)
	}
	return verdicts(pipeline(ctx, n.rdb, renewScript, batch, renewOf))
}

// unlockAll is unlock for many claims in one pipeline.
func (n *node) unlockAll(ctx context.Context, batch []claim) []verdict {
	return verdicts(pipeline(ctx, n.rdb, releaseScript, batch, releaseOf))
}

// attempted is the message of a server that an attempt took and gives back; a release's is empty.
const attempted = "attempted"

func releaseOf(c claim) []any {
	if c.attempt {
		return releaseScript.with(1, c.key, c.token, attempted)
	}
	return releaseScript.with(1, c.key, c.token)
}

func renewOf(c claim) []any { return renewScript.with(1, c.key, c.token, c.ttl.Milliseconds()) }

// verdicts reads answers of 1 (it was ours) and 0.
func verdicts(cmds []once) []verdict {
	all := make([]verdict, len(cmds))
	for i, cmd := range cmds {
		switch v, err := cmd.Int64(); {
		case err != nil:
		case v == 1:
			all[i] = kept
		default:
			all[i] = gone
		}
	}
	return all
}

func (n *node) trail(c claim) *trail {
	if c.sent == nil {
		return nil
	}
	return &c.sent[n.at]
}

func (n *node) withdraw(c claim) {
	n.trail(c).withdraw()
	n.tidy(c)
}

// tidy owes the server what a withdrawn acquire makes necessary. The outcomes of copies on their way are waited for a
// little, as most of them leave nothing.
func (n *node) tidy(c claim) {
	switch key, open := n.trail(c).left(); {
	case key:
		n.forget(debt{claim: c})
	case open:
		n.forget(debt{claim: c, due: time.Now().Add(settleGrace)})
	default:
		n.sweep.drop(c)
	}
}

func (n *node) forget(d debt) {
	d.trail = n.trail(d.claim)
	d.trail.withdraw()
	n.sweep.add(d)
}

func (n *node) size() int { return 1 }
