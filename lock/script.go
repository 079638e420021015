package lock

import (
	"context"
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var scriptFiles embed.FS

// script is one .lua file.
type script struct {
	*redis.Script
	source string
}

// load reads an embedded script; a missing one is a mistake of this package.
func load(file string) script {
	src, err := scriptFiles.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return script{redis.NewScript(string(src)), string(src)}
}

// once is a command that go-redis does not send again by itself: whether a second send is harmless, and what its
// answer means, is for the lock to decide.
type once struct{ *redis.Cmd }

// NoRetry overrides the default of go-redis.
func (once) NoRetry() bool { return true }

func (s script) sha(ctx context.Context, keys []string, args []any) once {
	return command(ctx, "evalsha", s.Hash(), keys, args)
}

func (s script) text(ctx context.Context, keys []string, args []any) once {
	return command(ctx, "eval", s.source, keys, args)
}

func command(ctx context.Context, name, what string, keys []string, args []any) once {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, what, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return once{redis.NewCmd(ctx, append(all, args...)...)}
}

// sendOnce runs the script by its hash, and by its text when the server does not know it (SCRIPT FLUSH, a restart, a
// fail-over): one more round trip, no failure.
func (s script) sendOnce(ctx context.Context, rdb redis.UniversalClient, keys []string, args ...any) *redis.Cmd {
	c := s.sha(ctx, keys, args)
	if err := rdb.Process(ctx, c); err != nil && unknownScript(err) {
		c = s.text(ctx, keys, args)
		_ = rdb.Process(ctx, c)
	}
	return c.Cmd
}

func unknownScript(err error) bool { return strings.HasPrefix(err.Error(), "NOSCRIPT") }

// pipeline runs s for every claim in one round trip, and in a second one by its text where the server did not know it.
// Every command keeps its own error.
func pipeline(ctx context.Context, rdb redis.UniversalClient, s script, batch []claim, args func(claim) []any) []once {
	cmds := make([]once, len(batch))
	which := make([]int, len(batch))
	for i, c := range batch {
		cmds[i], which[i] = s.sha(ctx, []string{c.key}, args(c)), i
	}
	flush(ctx, rdb, cmds, which)
	which = which[:0]
	for i, c := range batch {
		if err := cmds[i].Err(); err != nil && unknownScript(err) {
			cmds[i], which = s.text(ctx, []string{c.key}, args(c)), append(which, i)
		}
	}
	if len(which) > 0 {
		flush(ctx, rdb, cmds, which)
	}
	return cmds
}

func flush(ctx context.Context, rdb redis.UniversalClient, cmds []once, which []int) {
	pipe := rdb.Pipeline()
	for _, i := range which {
		_ = pipe.Process(ctx, cmds[i])
	}
	_, _ = pipe.Exec(ctx)
}
