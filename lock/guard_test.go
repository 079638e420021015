package lock_test

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
)

func TestSQLGuard(t *testing.T) {
	db, done := database()
	defer done()
	ctx := context.Background()
	_, err := lock.NewSQLGuard("stock; DROP TABLE stock", "id", "fence")
	require.ErrorIs(t, err, lock.ErrInvalid)
	guard, err := lock.NewSQLGuard("stock", "id", "fence")
	require.NoError(t, err)

	_, err = guard.Claim(ctx, db, 1, 0)
	require.ErrorIs(t, err, lock.ErrInvalid, "fence 0")
	_, err = guard.Claim(ctx, db, 2, 7)
	require.ErrorIs(t, err, lock.ErrLost, "no row")
	seven, err := guard.Claim(ctx, db, 1, 7)
	require.NoError(t, err)
	_, err = guard.Claim(ctx, db, 1, 7)
	require.NoError(t, err, "the same again")
	eight, err := guard.Claim(ctx, db, 1, 8)
	require.NoError(t, err)
	_, err = guard.Claim(ctx, db, 1, 7)
	require.ErrorIs(t, err, lock.ErrLost, "an older one")

	const write = "UPDATE stock SET n = ? WHERE id = 1 AND fence = ?"
	require.ErrorIs(t, seven.Exec(ctx, db, write, 1, seven.Fence()), lock.ErrLost)
	require.NoError(t, eight.Exec(ctx, db, write, 2, eight.Fence()))
	require.ErrorIs(t, lock.Claimed{}.Exec(ctx, db, write, 3, 0), lock.ErrInvalid, "never claimed")
	var n int
	require.NoError(t, db.QueryRow("SELECT n FROM stock WHERE id = 1").Scan(&n))
	require.Equal(t, 2, n)
}

func TestRedisGuard(t *testing.T) {
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer rdb.Close()
	ctx := context.Background()
	guard := lock.NewRedisGuard(rdb, "{s}:guard")
	write := lock.FencedScript(`redis.call('SET', KEYS[1], ARGV[1]) return ARGV[1]`)

	require.ErrorIs(t, guard.Claim(ctx, 0), lock.ErrInvalid)
	_, err := guard.Run(ctx, write, 7, []string{"{s}"}, "x")
	require.ErrorIs(t, err, lock.ErrLost, "claim first")
	require.NoError(t, guard.Claim(ctx, 1764537600000007))
	require.NoError(t, guard.Claim(ctx, 1764537600000007), "the same again")
	v, err := guard.Run(ctx, write, 1764537600000007, []string{"{s}"}, "9")
	require.NoError(t, err)
	require.Equal(t, "9", v)
	require.NoError(t, guard.Claim(ctx, 1764537600000008))
	require.ErrorIs(t, guard.Claim(ctx, 1764537600000007), lock.ErrLost, "an older one")
	_, err = guard.Run(ctx, write, 1764537600000007, []string{"{s}"}, "99")
	require.ErrorIs(t, err, lock.ErrLost)
	require.Equal(t, "9", rdb.Get(ctx, "{s}").Val())
}
