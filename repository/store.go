// Package repository is everything that remembers: the SQL store on GORM (MySQL, MariaDB, SQLite), the leased
// worker numbers behind the ids, and what the program keeps in Redis besides its locks.
//
// It implements the interfaces of package service. Writes of an order exist only on the value that Store.InTx
// hands out. Driver errors are turned into service's sentinels in errors.go, by number.
package repository

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"seckill/migrations"
	"seckill/service"
)

// Options configures a Store. The zero value is usable.
type Options struct {
	// MaxConns bounds the connections of one process to MySQL or MariaDB. Default 64. On SQLite it bounds the
	// readers (default 8); there is always one writer.
	MaxConns int
	// LockWait bounds how long a statement waits for a row lock (MySQL), or BEGIN for the write lock (SQLite);
	// then the answer is service.ErrStoreBusy. Whole seconds on MySQL. Default 10 s.
	LockWait time.Duration
	// Retries is how often InTx runs a function again that may be retried. Default 19, which outlast
	// a storm of one user's clicks on a voucher that is sold out: each insert is rolled back, and InnoDB kills one of two.
	Retries int
	// SkipSchemaCheck lets Open accept a database whose schema is older than the program. Default false.
	SkipSchemaCheck bool
}

func (o *Options) setDefaults(e Engine) {
	if o.MaxConns <= 0 {
		o.MaxConns = 64
		if e == SQLite {
			o.MaxConns = 8
		}
	}
	if o.LockWait <= 0 {
		o.LockWait = 10 * time.Second
	}
	if o.Retries <= 0 {
		o.Retries = 19
	}
}

// Store is the SQL database. It is safe for concurrent use.
type Store struct {
	reads             // statements outside of a transaction, on the read pool
	writer *gorm.DB   // where transactions begin
	pools  []*sql.DB  // what Close closes: one pool on MySQL, a reading and a writing one on SQLite
	info   EngineInfo // kind and version of the server
	opt    Options    // with defaults set
}

var (
	_ service.Store     = (*Store)(nil)
	_ service.Catalogue = (*Store)(nil)
	_ service.LabStore  = (*Store)(nil)
)

// Open connects to the database that dsn names and checks its schema. dsn is one of
//
//	sqlite:///abs/path.db
//	mysql://user:password@host:port/database?param=value
//	user:password@tcp(host:port)/database?param=value   (as in go-sql-driver/mysql)
//
// It returns migrations.ErrSchemaOld when `seckill migrate` has to run first.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	t, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	o.setDefaults(t.engine())
	s := &Store{opt: o}
	if err := s.connect(ctx, t); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) connect(ctx context.Context, t target) error {
	open := s.openMySQL
	if t.engine() == SQLite {
		open = s.openSQLite
	}
	if err := open(ctx, t); err != nil {
		return err
	}
	var err error
	if s.info, err = readEngineInfo(ctx, s.pools[0], t.engine()); err != nil {
		return err
	}
	if s.opt.SkipSchemaCheck {
		return nil
	}
	return migrations.Check(ctx, s.pools[0], t.dialect())
}

// Close closes all connections. Nothing may use the store afterwards.
func (s *Store) Close() error {
	var errs []error
	for _, p := range s.pools {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pools[0].PingContext(ctx) }

// Migrate brings the schema of the database that dsn names up to date and returns how many migrations ran.
func Migrate(ctx context.Context, dsn string) (int, error) {
	var n int
	err := withMigrations(ctx, dsn, func(db *sql.DB, d migrations.Dialect) (err error) {
		n, err = migrations.Up(ctx, db, d)
		return err
	})
	return n, err
}

// MigrateDown takes every migration back; all data is lost.
func MigrateDown(ctx context.Context, dsn string) error {
	return withMigrations(ctx, dsn, func(db *sql.DB, d migrations.Dialect) error {
		return migrations.Down(ctx, db, d)
	})
}

func withMigrations(ctx context.Context, dsn string, fn func(*sql.DB, migrations.Dialect) error) error {
	t, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	s, err := Open(ctx, dsn, Options{MaxConns: 2, SkipSchemaCheck: true})
	if err != nil {
		return err
	}
	return errors.Join(fn(s.pools[len(s.pools)-1], t.dialect()), s.Close())
}
