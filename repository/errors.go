package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"seckill/service"
)

// errDuplicate: a row with this unique key exists. What that means only the statement knows.
var errDuplicate = errors.New("duplicate key")

// Numbers of MySQL's and MariaDB's errors.
const (
	myDuplicate       = 1062 // ER_DUP_ENTRY
	myLockWait        = 1205 // ER_LOCK_WAIT_TIMEOUT
	myDeadlock        = 1213 // ER_LOCK_DEADLOCK
	myRecordChanged   = 1020 // ER_CHECKREAD: MariaDB ≥ 11.6.2 refuses a write on an old snapshot
	myLockNowait      = 3572 // ER_LOCK_NOWAIT
	mySkippedByKill   = 1317 // ER_QUERY_INTERRUPTED
	sqliteBusy        = 5    // SQLITE_BUSY; the primary code is the low byte
	sqliteLocked      = 6    // SQLITE_LOCKED
	sqliteInterrupt   = 9    // SQLITE_INTERRUPT
	sqliteUnique      = 2067 // SQLITE_CONSTRAINT_UNIQUE
	sqlitePrimaryKey  = 1555 // SQLITE_CONSTRAINT_PRIMARYKEY
	sqlitePrimaryMask = 0xff
)

// mapErr turns a driver's or GORM's error into a sentinel, by number and never by text, and keeps the original in
// the chain. When ctx has ended, that is the error, whatever the driver made of it.
func mapErr(ctx context.Context, err error) error {
	if ctxErr := ended(ctx); ctxErr != nil {
		// Also when err is nil: the SQLite driver skips a statement silently when ctx ends just before it.
		return ctxErr
	}
	var my *mysql.MySQLError
	var lite *gosqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return service.ErrNotFound
	case errors.As(err, &my):
		return mapMySQL(my, err)
	case errors.As(err, &lite):
		return mapSQLite(lite, err)
	}
	return err
}

func mapMySQL(my *mysql.MySQLError, err error) error {
	switch my.Number {
	case myDuplicate:
		return fmt.Errorf("%w: %w", errDuplicate, err)
	case myDeadlock, myLockWait, myRecordChanged, myLockNowait, mySkippedByKill:
		return fmt.Errorf("%w: %w", service.ErrStoreBusy, err)
	}
	return err
}

func mapSQLite(lite *gosqlite.Error, err error) error {
	switch lite.Code() {
	case sqliteUnique, sqlitePrimaryKey:
		return fmt.Errorf("%w: %w", errDuplicate, err)
	}
	switch lite.Code() & sqlitePrimaryMask {
	case sqliteBusy, sqliteLocked, sqliteInterrupt:
		// An interrupt with a live context was meant for the connection's previous statement.
		return fmt.Errorf("%w: %w", service.ErrStoreBusy, err)
	}
	return err
}

// ended is nil while ctx lives, else its error together with its cause.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
