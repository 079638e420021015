package lock

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var scriptFiles embed.FS

// script is one .lua file.
type script struct {
	*redis.Script
	source string
	hash   any // as a word of a command
}

// load reads an embedded script; a missing one is a mistake of this package.
func load(file string) script {
	src, err := scriptFiles.ReadFile(file)
	if err != nil {
		panic(err)
	}
	s := redis.NewScript(string(src))
	return script{s, string(src), s.Hash()}
}

// with is the script with its keys, so many, and its arguments as the words of a command.
func (s script) with(keys int, keysAndArgs ...any) []any {
	words := make([]any, 0, 3+len(keysAndArgs))
	return append(append(words, "evalsha", s.hash, keys), keysAndArgs...)
}

// once is a command that go-redis does not send again by itself: whether a second send is harmless, and what its
// answer means, is for the lock to decide.
type once struct{ *redis.Cmd }

// NoRetry overrides the default of go-redis.
func (once) NoRetry() bool { return true }

// sha is the command by the script's hash.
func (s script) sha(ctx context.Context, words []any) once { return once{redis.NewCmd(ctx, words...)} }

// text is the command by the script's text.
func (s script) text(ctx context.Context, words []any) once {
	words = slices.Clone(words)
	words[0], words[1] = "eval", s.source
	return once{redis.NewCmd(ctx, words...)}
}

// sendOnce runs the script by its hash, and by its text when the server does not know it (SCRIPT FLUSH, a restart, a
// fail-over): one more round trip, no failure.
func (s script) sendOnce(ctx context.Context, rdb redis.UniversalClient, words []any) *redis.Cmd {
	c := s.sha(ctx, words)
	if err := rdb.Process(ctx, c); err != nil && unknownScript(err) {
		c = s.text(ctx, words)
		_ = rdb.Process(ctx, c)
	}
	return c.Cmd
}

func unknownScript(err error) bool { return strings.HasPrefix(err.Error(), "NOSCRIPT") }

// pipeline runs s for every claim in one round trip, and in a second one by its text where the server did not know it.
// Every command keeps its own error.
func pipeline(ctx context.Context, rdb redis.UniversalClient, s script, batch []claim, words func(claim) []any) []once {
	cmds := make([]once, len(batch))
	which := make([]int, len(batch))
	for i, c := range batch {
		cmds[i], which[i] = s.sha(ctx, words(c)), i
	}
	flush(ctx, rdb, cmds, which)
	which = which[:0]
	for i, c := range batch {
		if err := cmds[i].Err(); err != nil && unknownScript(err) {
			cmds[i], which = s.text(ctx, words(c)), append(which, i)
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
