// Package migrations is the database schema: numbered SQL files, one folder per dialect, embedded in the binary.
//
// The two folders describe the same tables; a test holds them against each other.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Files are the SQL files, mysql/NNNNN_name.sql and sqlite/NNNNN_name.sql.
//
//go:embed mysql/*.sql sqlite/*.sql
var Files embed.FS

// Dialect names a folder of SQL files.
type Dialect string

// The dialects. MariaDB runs the MySQL files.
const (
	MySQL  Dialect = "mysql"
	SQLite Dialect = "sqlite"
)

// ErrSchemaOld: the database's schema is older than the program. The error's text names the command to run.
var ErrSchemaOld = errors.New("the database schema is too old")

const versionTable = goose.DefaultTablename

// Up applies every migration that the database has not seen and returns how many those were. Up of two programs
// at once on one MySQL server is safe: the second waits (at most a minute) and finds nothing to do.
func Up(ctx context.Context, db *sql.DB, d Dialect) (int, error) {
	var n int
	err := withProvider(ctx, db, d, func(p *goose.Provider) error {
		done, err := p.Up(ctx)
		n = len(done)
		return err
	})
	return n, err
}

// Down takes every migration back. It drops all tables and what is in them.
func Down(ctx context.Context, db *sql.DB, d Dialect) error {
	return withProvider(ctx, db, d, func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, 0)
		return err
	})
}

// Check returns nil when the schema is at least what this program needs, ErrSchemaOld when it is not, and writes
// nothing. A newer schema passes, so that old and new programs can run side by side during a roll-out.
func Check(ctx context.Context, db *sql.DB, d Dialect) error {
	want, err := latest(d)
	if err != nil {
		return err
	}
	have, err := Version(ctx, db, d)
	if err != nil {
		return err
	}
	if have < want {
		return fmt.Errorf("%w: it is at version %d and this program needs %d; run `seckill migrate --db DSN`",
			ErrSchemaOld, have, want)
	}
	return nil
}

// Version is the number of the last applied migration; 0 on an empty database.
func Version(ctx context.Context, db *sql.DB, d Dialect) (int64, error) {
	exists := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if d == MySQL {
		exists = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	}
	var n int
	if err := db.QueryRowContext(ctx, exists, versionTable).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	store, err := database.NewStore(gooseDialect(d), versionTable)
	if err != nil {
		return 0, err
	}
	v, err := store.GetLatestVersion(ctx, db)
	if errors.Is(err, database.ErrVersionNotFound) {
		return 0, nil
	}
	return v, err
}

// latest is the highest number among the embedded files.
func latest(d Dialect) (int64, error) {
	entries, err := fs.ReadDir(Files, string(d))
	if err != nil {
		return 0, fmt.Errorf("migrations: unknown dialect %q", d)
	}
	return goose.NumericComponent(entries[len(entries)-1].Name())
}

func withProvider(ctx context.Context, db *sql.DB, d Dialect, fn func(*goose.Provider) error) error {
	dir, err := fs.Sub(Files, string(d))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(gooseDialect(d), db, dir,
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if d != MySQL {
		return fn(p)
	}
	return serialised(ctx, db, func() error { return fn(p) })
}

// serialised keeps a second program out while fn runs: MySQL commits each DDL statement by itself, so nothing
// else would.
func serialised(ctx context.Context, db *sql.DB, fn func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	const name = "CONCAT('seckill-migrate-', MD5(DATABASE()))" // a lock's name has at most 64 characters
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", 60)").Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("migrations: another program has been migrating this database for a minute")
	}
	defer func() {
		// The connection goes back to the pool and must not take the lock with it.
		conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK("+name+")").Scan(&got)
	}()
	return fn()
}

func gooseDialect(d Dialect) database.Dialect {
	if d == SQLite {
		return database.DialectSQLite3
	}
	return database.DialectMySQL
}
