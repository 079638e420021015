package lock

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// errYoung: the node restarted so recently that it may have forgotten a lock that it granted before.
var errYoung = errors.New("node restarted less than RestartGrace ago")

// grown sends s once together with INFO, in the same round trip, and makes the success of a node that has not been up
// for RestartGrace an errYoung.
func (n *node) grown(ctx context.Context, s script, words []any) *redis.Cmd {
	cmd := s.sha(ctx, words)
	up := n.withUptime(ctx, cmd)
	if err := cmd.Err(); err != nil && unknownScript(err) {
		cmd = s.text(ctx, words)
		up = n.withUptime(ctx, cmd)
	}
	if cmd.Err() == nil && up < n.o.RestartGrace {
		cmd.SetVal(nil)
		cmd.SetErr(errYoung)
	}
	return cmd.Cmd
}

// withUptime sends cmd and returns how long the server has been up, 0 when it does not say.
func (n *node) withUptime(ctx context.Context, cmd once) time.Duration {
	pipe := n.rdb.Pipeline()
	info := once{redis.NewCmd(ctx, "info", "server")}
	_ = pipe.Process(ctx, info)
	_ = pipe.Process(ctx, cmd)
	_, _ = pipe.Exec(ctx)
	text, _ := info.Text()
	_, rest, _ := strings.Cut(text, "uptime_in_seconds:")
	digits, _, _ := strings.Cut(rest, "\r\n")
	seconds, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
