package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// keys lists the locks that exist; what only remembers the last fence is none.
func (w *World) keys() []string {
	var all []string
	for _, rdb := range w.admins {
		found, err := rdb.Keys(context.Background(), w.prefix+"*").Result()
		must(err)
		all = append(all, slices.DeleteFunc(found, func(k string) bool { return strings.HasSuffix(k, ":fence") })...)
	}
	return all
}

// name is the key of the only lock that exists. Its holder has a majority of nodes; the others follow.
func (w *World) name() string {
	var keys []string
	eventually(patience, func() bool { keys = w.keys(); return len(keys) == len(w.servers) }, "a key on every server")
	return keys[0]
}

// lose removes the only lock's keys by hand.
func (w *World) lose() {
	keys := []string{w.name()}
	w.admin(func(rdb *redis.Client) { rdb.Del(context.Background(), keys...) })
}

// eventually waits for what must come true; within is a bound far from what is expected.
func eventually(within time.Duration, f func() bool, format string, args ...any) {
	for deadline := time.Now().Add(within); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			breakIt("not within %v: "+format, append([]any{within}, args...)...)
		}
	}
}

// gone waits until no key is left.
func (w *World) gone(within time.Duration) {
	eventually(within, func() bool { return len(w.keys()) == 0 }, "every key removed")
}

// ended waits for the lease's context and returns its cause.
func ended(l Lease, within time.Duration) error {
	select {
	case <-l.Context().Done():
		return context.Cause(l.Context())
	case <-time.After(within):
		breakIt("the lease's context did not end within %v", within)
	}
	return nil
}

func want(ok bool, format string, args ...any) {
	if !ok {
		breakIt(format, args...)
	}
}

func wantErr(err, target error, format string, args ...any) {
	if !errors.Is(err, target) {
		breakIt(format+": got %w, want %v", append(args, err, target)...)
	}
}
