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

// getLocks opens get-lock processes on one database server.
type getLocks struct {
	t   *testing.T
	dsn string
}

func (g getLocks) open(o lock.Options) (lock.Opened, *sql.DB) {
	db, err := sql.Open("mysql", g.dsn)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = db.Close() })
	l, err := lock.Open("get-lock", lock.Resources{DB: db}, o)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, l.Close(context.Background())) })
	return l, db
}

func TestGetLock(t *testing.T) {
	srv, err := backend.SpawnDB(context.Background())
	if errors.Is(err, backend.ErrMissing) && os.Getenv("SECKILL_REQUIRE_SERVERS") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer srv.Stop()
	u, err := url.Parse(srv.DSN)
	require.NoError(t, err)
	dsn := u.User.Username() + "@tcp(" + u.Host + ")" + u.Path
	for name, test := range map[string]func(*testing.T, getLocks){
		"excludes": getLockExcludes, "waits": getLockWaits, "is freed with its session": getLockDies,
		"closes without a connection": getLockCloses, "is busy for who gives up": getLockGivenUp,
	} {
		t.Run(name, func(t *testing.T) { test(t, getLocks{t, dsn}) })
	}
}

func getLockExcludes(t *testing.T, g getLocks) {
	ctx := context.Background()
	a, _ := g.open(lock.Options{})
	b, _ := g.open(lock.Options{})
	held, err := a.Acquire(ctx, "a key that is longer than the sixty-four characters that MySQL allows, 键")
	require.NoError(t, err)
	require.NoError(t, held.Release(ctx))
	held, err = a.Acquire(ctx, "excludes")
	require.NoError(t, err)
	_, err = a.Acquire(ctx, "excludes")
	require.ErrorIs(t, err, lock.ErrBusy, "another session of the same process")
	_, err = b.Acquire(ctx, "excludes")
	require.ErrorIs(t, err, lock.ErrBusy, "another process")
	other, err := b.Acquire(ctx, "other")
	require.NoError(t, err)
	require.NoError(t, other.Release(ctx))
	require.NoError(t, held.Release(ctx))
}

func getLockWaits(t *testing.T, g getLocks) {
	ctx := context.Background()
	a, _ := g.open(lock.Options{})
	waiting, _ := g.open(lock.Options{Wait: -1})
	held, err := a.Acquire(ctx, "waits")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = waiting.Acquire(short, "waits")
	require.ErrorIs(t, err, lock.ErrBusy)
	got := make(chan error, 1)
	go func() {
		l, err := waiting.Acquire(ctx, "waits")
		if err == nil {
			err = l.Release(ctx)
		}
		got <- err
	}()
	require.NoError(t, held.Release(short), "on a context that has ended")
	require.NoError(t, <-got, "the waiter")
}

// getLockCloses: a waiter that waits for a connection of the pool, because every one has a holder, goes with Close.
func getLockCloses(t *testing.T, g getLocks) {
	ctx := context.Background()
	l, db := g.open(lock.Options{Wait: -1})
	db.SetMaxOpenConns(1)
	held, err := l.Acquire(ctx, "closes")
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx, "closes"); got <- err }()
	require.Eventually(t, func() bool { return db.Stats().WaitCount == 1 }, 20*time.Second, time.Millisecond)
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	closed := l.Close(short)
	require.NoError(t, held.Release(ctx))
	require.ErrorIs(t, <-got, lock.ErrClosed)
	require.NoError(t, closed)
}

// getLockGivenUp: who cancels after a long wait in the server was kept out by the holder, not by silence.
func getLockGivenUp(t *testing.T, g getLocks) {
	l, _ := g.open(lock.Options{Wait: -1})
	held, err := l.Acquire(context.Background(), "given up")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(1500*time.Millisecond, cancel)
	_, err = l.Acquire(ctx, "given up")
	require.ErrorIs(t, err, lock.ErrBusy)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, held.Release(context.Background()))
}

// getLockDies: the holder's session is killed, and with it goes the lock.
func getLockDies(t *testing.T, g getLocks) {
	ctx := context.Background()
	a, db := g.open(lock.Options{})
	b, _ := g.open(lock.Options{})
	dead, err := a.Acquire(ctx, "crash")
	require.NoError(t, err)
	rows, err := db.Query("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'")
	require.NoError(t, err)
	var sessions []int64
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		sessions = append(sessions, id)
	}
	require.NoError(t, rows.Close())
	for _, id := range sessions {
		_, _ = db.Exec("KILL CONNECTION ?", id)
	}
	require.Eventually(t, func() bool {
		l, err := b.Acquire(ctx, "crash")
		return err == nil && l.Release(ctx) == nil
	}, 20*time.Second, 20*time.Millisecond, "freed with the holder's session")
	require.ErrorIs(t, dead.Release(ctx), lock.ErrLost)
}
