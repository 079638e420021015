package repository

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// beginSlice is how long SQLite itself waits for the write lock in one BEGIN IMMEDIATE. It can't be interrupted
// there and sleeps longer with every try, up to 100 ms; Store.begin repeats short waits instead.
const beginSlice = 20 * time.Millisecond

// openSQLite opens the file twice: a pool of readers, and a single connection that writes.
//
// SQLite has one writer at a time. Inside this process writers queue for the one connection in the order they
// came, at no cost; only the processes compete for the file's write lock. In WAL mode readers never wait.
func (s *Store) openSQLite(ctx context.Context, t target) error {
	reader, err := s.openFile(ctx, t.file, "deferred", s.opt.LockWait, s.opt.MaxConns)
	if err != nil {
		return err
	}
	// BEGIN IMMEDIATE takes the write lock at once. A deferred transaction would read first and then be refused
	// its write with a BUSY that no waiting cures, because its snapshot is old.
	writer, err := s.openFile(ctx, t.file, "immediate", beginSlice, 1)
	if err != nil {
		return err
	}
	s.reads, s.writer = reads{db: reader}, writer
	return nil
}

func (s *Store) openFile(ctx context.Context, file, txlock string, busy time.Duration, conns int) (*gorm.DB, error) {
	q := url.Values{
		"_txlock": {txlock},
		"_pragma": {
			"journal_mode(wal)",
			// With WAL a commit needs no fsync to survive the death of the process; NORMAL fsyncs at checkpoints,
			// so a power cut can lose the last commits but never the file.
			"synchronous(normal)",
			fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		},
	}
	db, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	s.pools = append(s.pools, db)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	// While another process switches a new file to WAL, SQLite answers BUSY at once, whatever the time-out is.
	if err := retryBusy(ctx, s.opt.Retries, func() error { return mapErr(ctx, db.PingContext(ctx)) }); err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	g, err := gorm.Open(&sqlite.Dialector{Conn: newPrepared(db)}, gormConfig())
	return g, mapErr(ctx, err)
}
