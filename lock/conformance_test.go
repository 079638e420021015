package lock_test

import (
	"testing"

	"go.uber.org/goleak"

	"seckill/lock/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, name := range []string{"none", "mutex", "hash", "incr", "setnx", "setnx-expire", "setnx-repair", "expire", "token", "lua",
		"reentrant-simple", "reentrant", "watchdog", "redislock", "redlock", "fenced"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := locktest.Want{}
			if name == "redlock" {
				w.Nodes = 3
			}
			locktest.Run(t, locktest.Kind(name), w)
		})
	}
}
