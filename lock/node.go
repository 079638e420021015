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
	ballot     *ballot // of a quorum: who voted
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
	ballot *ballot
	freeIn time.Duration // of a refusal
}

// store is where renewed locks live: one node or a quorum of them.
type store interface {
	acquire(ctx context.Context, c claim) (reply, error)
	renew(ctx context.Context, batch []claim) []verdict
	unlock(ctx context.Context, c claim) (verdict, error)
	// forget compares and deletes behind the caller, as long as d says.
	forget(d debt)
}

// node is one Redis with the commands of the renewed locks. Commands are sent once; who calls may repeat them.
type node struct {
	rdb   redis.UniversalClient
	o     Options
	sweep *sweeper
}

func newNode(rdb redis.UniversalClient, o Options, bg *background) *node {
	n := &node{rdb: rdb, o: o}
	n.sweep = newSweeper(bg, n)
	return n
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

func (n *node) acquire(ctx context.Context, c claim) (reply, error) {
	s, keys, args := acquireScript, []string{c.key}, []any{c.token, c.ttl.Milliseconds()}
	if c.fenced {
		s, keys = acquireFencedScript, append(keys, fenceOf(c.key))
		args = append(args, max(time.Hour, 2*n.o.TTL).Milliseconds())
	}
	cmd := n.command(ctx, s, keys, args)
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
func (n *node) command(ctx context.Context, s script, keys []string, args []any) *redis.Cmd {
	switch {
	case n.o.MinReplicas > 0:
		return n.replicated(ctx, s, keys, args)
	case n.o.RestartGrace > 0:
		return n.grown(ctx, s, keys, args)
	}
	return s.sendOnce(ctx, n.rdb, keys, args...)
}

// unlock deletes the key if it is ours, wakes waiters, and says whether it was.
func (n *node) unlock(ctx context.Context, c claim) (verdict, error) {
	v, err := releaseScript.sendOnce(ctx, n.rdb, []string{c.key}, c.token, channelOf(c.key)).Int64()
	switch {
	case err != nil:
		return unknown, err
	case v == 1:
		return kept, nil
	}
	return gone, nil
}

// renew sends the batch in one pipeline.
func (n *node) renew(ctx context.Context, batch []claim) []verdict {
	args := func(c claim) []any { return []any{c.token, c.ttl.Milliseconds()} }
	if n.o.MinReplicas > 0 {
		return n.renewReplicated(ctx, batch, args)
	}
	return verdicts(pipeline(ctx, n.rdb, renewScript, batch, args))
}

// unlockAll is unlock for many claims in one pipeline.
func (n *node) unlockAll(ctx context.Context, batch []claim) []verdict {
	return verdicts(pipeline(ctx, n.rdb, releaseScript, batch, func(c claim) []any {
		return []any{c.token, channelOf(c.key)}
	}))
}

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

func (n *node) forget(d debt) { n.sweep.add(d) }
