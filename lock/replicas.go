package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Strict replica mode (Options.MinReplicas): WAIT follows the command in the same round trip and on the same
// connection, and a success that too few replicas acknowledged counts as none. It makes the loss of a fresh lock by a
// fail-over unlikely, not impossible: the replica that is promoted may be another one.

// replicated sends s once, as sendOnce does, and makes an unacknowledged success an ErrReplicas.
func (n *node) replicated(ctx context.Context, s script, key string, words []any) *redis.Cmd {
	rdb, err := n.primary(ctx, key)
	cmd := s.sha(ctx, words)
	if err != nil {
		cmd.SetErr(err)
		return cmd.Cmd
	}
	enough := n.withWait(ctx, rdb, cmd)
	if err := cmd.Err(); err != nil && unknownScript(err) {
		cmd = s.text(ctx, words)
		enough = n.withWait(ctx, rdb, cmd)
	}
	if _, held := cmd.Val().(string); held && !enough {
		cmd.SetVal(nil)
		cmd.SetErr(ErrReplicas)
	}
	return cmd.Cmd
}

// withWait sends cmd and WAIT together and reports whether enough replicas have what the connection wrote.
func (n *node) withWait(ctx context.Context, rdb redis.UniversalClient, cmds ...once) bool {
	pipe := rdb.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd)
	}
	wait := once{redis.NewCmd(ctx, "wait", n.o.MinReplicas, n.o.ReplicaTimeout.Milliseconds())}
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx)
	acks, err := wait.Int64()
	return err == nil && acks >= int64(n.o.MinReplicas)
}

// renewReplicated is renew in strict mode, one pipeline for each primary. What was not acknowledged stays unknown.
func (n *node) renewReplicated(ctx context.Context, batch []claim) []verdict {
	groups := map[redis.UniversalClient][]int{}
	for i, c := range batch {
		if rdb, err := n.primary(ctx, c.key); err == nil {
			groups[rdb] = append(groups[rdb], i)
		}
	}
	all := make([]verdict, len(batch))
	for rdb, which := range groups {
		cmds := make([]once, len(which))
		for i, at := range which {
			cmds[i] = renewScript.text(ctx, renewOf(batch[at]))
		}
		enough := n.withWait(ctx, rdb, cmds...)
		for i, v := range verdicts(cmds) {
			if v == gone || enough {
				all[which[i]] = v
			}
		}
	}
	return all
}

// primary is the server that WAIT must be sent to: in a cluster the one that owns the key.
func (n *node) primary(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := n.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return n.rdb, nil
}
