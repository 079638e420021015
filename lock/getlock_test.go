package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository/backend"
)

// longWait is longer than a server may be silent before it counts as unreachable.
const longWait = 700 * time.Millisecond

// A mutex is nobody to be silent: whoever waited for it to the end was too late, however long that was.
func TestSpentWaitForAMutexIsBusy(t *testing.T) {
	l, err := lock.Open("mutex", lock.Resources{}, lock.Options{Wait: longWait})
	require.NoError(t, err)
	ctx := context.Background()
	held, err := l.Acquire(ctx, "k")
	require.NoError(t, err)
	_, err = l.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	cancelled, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = l.Acquire(cancelled, "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, held.Release(ctx))
	require.NoError(t, l.Close(ctx))
}

func TestGetLock(t *testing.T) {
	ctx := context.Background()
	srv, err := backend.SpawnDB(ctx)
	if errors.Is(err, backend.ErrMissing) && os.Getenv("SECKILL_REQUIRE_SERVERS") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer srv.Stop()
	u, err := url.Parse(srv.DSN)
	require.NoError(t, err)
	open := func(o lock.Options) (lock.Opened, *sql.DB) {
		db, err := sql.Open("mysql", u.User.Username()+"@tcp("+u.Host+")"+u.Path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		l, err := lock.Open("get-lock", lock.Resources{DB: db}, o)
		require.NoError(t, err)
		return l, db
	}
	a, dbA := open(lock.Options{})
	b, _ := open(lock.Options{})
	waiting, _ := open(lock.Options{Wait: -1})

	held, err := a.Acquire(ctx, "a key that is longer than the sixty-four characters that MySQL allows, 键")
	require.NoError(t, err)
	require.NoError(t, held.Release(ctx))
	held, err = a.Acquire(ctx, "k")
	require.NoError(t, err)
	_, err = a.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrBusy, "another session of the same process")
	_, err = b.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrBusy, "another process")
	other, err := b.Acquire(ctx, "other")
	require.NoError(t, err)
	require.NoError(t, other.Release(ctx))

	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = waiting.Acquire(short, "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	got := make(chan error, 1)
	go func() {
		l, err := waiting.Acquire(ctx, "k")
		if err == nil {
			err = l.Release(ctx)
		}
		got <- err
	}()
	require.NoError(t, held.Release(short), "on a context that has ended")
	require.NoError(t, <-got, "the waiter")

	// A wait that is spent in the queue for a connection says that the lock is busy, and not that nobody answers.
	full, pool := open(lock.Options{Wait: longWait})
	pool.SetMaxOpenConns(1)
	last, err := full.Acquire(ctx, "k")
	require.NoError(t, err)
	_, err = full.Acquire(ctx, "k2")
	require.ErrorIs(t, err, lock.ErrBusy)
	require.NoError(t, last.Release(ctx))

	dead, err := a.Acquire(ctx, "crash")
	require.NoError(t, err)
	rows, err := dbA.Query("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'")
	require.NoError(t, err)
	var sessions []int64
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		sessions = append(sessions, id)
	}
	require.NoError(t, rows.Close())
	for _, id := range sessions { // the holder dies with its session
		_, _ = dbA.Exec("KILL CONNECTION ?", id)
	}
	require.Eventually(t, func() bool {
		l, err := b.Acquire(ctx, "crash")
		return err == nil && l.Release(ctx) == nil
	}, 20*time.Second, 20*time.Millisecond, "freed with the holder's session")
	require.ErrorIs(t, dead.Release(ctx), lock.ErrLost)
	for _, l := range []lock.Opened{a, b, waiting} {
		require.NoError(t, l.Close(ctx))
	}
}
