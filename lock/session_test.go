package lock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// interrupted is a database that grants every lock and whose administrator kills every RELEASE_LOCK.
type interrupted struct{ closed int }

func (d *interrupted) Connect(context.Context) (driver.Conn, error) {
	return interruptedConn{d: d}, nil
}
func (d *interrupted) Driver() driver.Driver { return nil }

type interruptedConn struct {
	driver.Conn
	d *interrupted
}

func (c interruptedConn) Close() error { c.d.closed++; return nil }

func (interruptedConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, "RELEASE_LOCK") {
		return nil, errors.New("Error 1317 (70100): Query execution was interrupted")
	}
	return one{}, nil
}

// one is a result of a single 1.
type one struct{}

func (one) Columns() []string            { return []string{"GET_LOCK"} }
func (one) Next(to []driver.Value) error { to[0] = int64(1); return nil }
func (one) Close() error                 { return nil }

// A session whose RELEASE_LOCK failed may still have the lock: it must not go back to the pool with it.
func TestGetLockDropsAnUnsureSession(t *testing.T) {
	d := &interrupted{}
	db := sql.OpenDB(d)
	defer db.Close()
	l := NewGetLock(db, Options{})
	held, err := l.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.ErrorIs(t, held.Release(t.Context()), ErrLost)
	require.Equal(t, 1, d.closed)
	require.Zero(t, db.Stats().OpenConnections)
	require.NoError(t, l.Close(t.Context()))
}
