package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowPreparer is a database that takes its time to prepare a statement, and does nothing else.
type slowPreparer struct {
	begun, goOn chan struct{}
	prepares    atomic.Int32
}

func (d *slowPreparer) Connect(context.Context) (driver.Conn, error) { return slowConn{d}, nil }
func (d *slowPreparer) Driver() driver.Driver                        { return nil }

type slowConn struct{ d *slowPreparer }

func (c slowConn) Prepare(string) (driver.Stmt, error) {
	c.d.prepares.Add(1)
	c.d.begun <- struct{}{}
	<-c.d.goOn
	return noStmt{}, nil
}
func (slowConn) Close() error              { return nil }
func (slowConn) Begin() (driver.Tx, error) { return nil, errors.New("no transactions") }

type noStmt struct{ driver.Stmt }

func (noStmt) Close() error  { return nil }
func (noStmt) NumInput() int { return -1 }

// A text is prepared by one caller. The others do not wait for that, outside of a transaction or in one: who prepares
// may wait for a connection, and closing a second statement would wait for whatever its connection does, which may be to
// wait for the row of a transaction that needs the cache to go on.
func TestATextIsPreparedByOneAndWaitedForByNobody(t *testing.T) {
	d := &slowPreparer{begun: make(chan struct{}, 9), goOn: make(chan struct{})}
	db := sql.OpenDB(d)
	defer db.Close()
	p := newPrepared(db)
	got := make(chan *sql.Stmt)
	go func() {
		s, err := p.stmt(context.Background(), "SELECT 1")
		if err != nil {
			s = nil
		}
		got <- s
	}()
	<-d.begun
	second := make(chan *sql.Stmt, 1)
	go func() {
		s, _ := p.stmt(context.Background(), "SELECT 1") // nil, as the check below shows
		second <- s
	}()
	select {
	case s := <-second:
		require.Nil(t, s, "it runs the text unprepared")
	case <-d.begun:
		close(d.goOn)
		<-got
		t.Fatal("prepared a second time, by a caller that waits for it")
	}
	require.Nil(t, p.known("SELECT 1"))
	close(d.goOn)
	first := <-got
	require.NotNil(t, first)
	again, err := p.stmt(context.Background(), "SELECT 1")
	require.NoError(t, err)
	require.Same(t, first, again)
	require.EqualValues(t, 1, d.prepares.Load())
}
