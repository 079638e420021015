package lock

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
)

// SQLGuard refuses late writes to the rows of one table, by a column that remembers the highest fencing token that
// claimed the row. The holder claims the row before it reads what it decides on; a check on the write alone is not
// enough, as two holders may have read the same value before. Placeholders are question marks (MySQL, SQLite).
type SQLGuard struct{ claim, look string }

// Execer is what *sql.DB, *sql.Conn and *sql.Tx have in common here.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// NewSQLGuard guards table, whose rows are found by the column key and whose column fence is a 64-bit integer,
// initially 0. ErrInvalid for a name that is not a plain identifier.
func NewSQLGuard(table, key, fence string) (SQLGuard, error) {
	for _, name := range []string{table, key, fence} {
		if !identifier.MatchString(name) {
			return SQLGuard{}, fmt.Errorf("%w: %q is not an identifier", ErrInvalid, name)
		}
	}
	return SQLGuard{
		claim: fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s = ? AND %s < ?", table, fence, key, fence),
		look:  fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", fence, table, key),
	}, nil
}

// Claimed is a row that was claimed; only through it a guarded write is made.
type Claimed struct{ fence int64 }

// Fence is the token that the row was claimed with; a guarded write's WHERE says "AND fence = ?" with it.
func (c Claimed) Fence() int64 { return c.fence }

// Claim makes the row of key belong to fence (Lease.Fence), in a transaction of its own or as the first statement of
// the caller's. Claiming again with the same fence succeeds. ErrLost: a later holder has claimed the row, or it does
// not exist. ErrInvalid: the lock has no fence.
func (g SQLGuard) Claim(ctx context.Context, db Execer, key any, fence int64) (Claimed, error) {
	if fence <= 0 {
		return Claimed{}, fmt.Errorf("%w: fence %d guards nothing", ErrInvalid, fence)
	}
	done, err := affected(db.ExecContext(ctx, g.claim, fence, key, fence))
	if err != nil {
		return Claimed{}, err
	}
	if done == 0 {
		var owner int64
		switch err := db.QueryRowContext(ctx, g.look, key).Scan(&owner); {
		case err == sql.ErrNoRows:
			return Claimed{}, fmt.Errorf("%w: there is no row to claim", ErrLost)
		case err != nil:
			return Claimed{}, err
		case owner != fence:
			return Claimed{}, fmt.Errorf("%w: fence %d has claimed the row after %d", ErrLost, owner, fence)
		}
	}
	return Claimed{fence}, nil
}

// Exec runs a write whose WHERE compares the fence column with Fence. ErrLost when it touched no row. MySQL's driver
// has to count the rows that match (clientFoundRows=true), or a write that changes nothing looks like a refused one.
func (c Claimed) Exec(ctx context.Context, db Execer, update string, args ...any) error {
	if c.fence <= 0 {
		return fmt.Errorf("%w: the row was not claimed", ErrInvalid)
	}
	done, err := affected(db.ExecContext(ctx, update, args...))
	if err == nil && done == 0 {
		return fmt.Errorf("%w: fence %d no longer owns the row", ErrLost, c.fence)
	}
	return err
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
