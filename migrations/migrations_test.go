package migrations_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/glebarez/sqlite"
	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/migrations"
	"seckill/repository/backend/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, strings.TrimPrefix(dsn, "sqlite://"))
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// each runs the test on an empty database of every kind.
func each(t *testing.T, test func(t *testing.T, db *sql.DB, d migrations.Dialect)) {
	backendtest.EachDB(t, func(t *testing.T, dsn string) {
		if strings.HasPrefix(dsn, "sqlite:") {
			test(t, openDB(t, "sqlite", dsn), migrations.SQLite)
			return
		}
		test(t, openDB(t, "mysql", dsn), migrations.MySQL)
	})
}

var tables = []string{"due_returns", "idempotency_keys", "orders", "stock", "stock_units", "vouchers", "workers"}

// files is the number of migrations, which is also the last one's.
const files = 6

func TestUpAndDown(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d migrations.Dialect) {
		ctx := context.Background()
		for range 2 { // down leaves nothing behind that a second up would trip over
			n, err := migrations.Up(ctx, db, d)
			require.NoError(t, err)
			require.Equal(t, files, n)
			n, err = migrations.Up(ctx, db, d)
			require.NoError(t, err)
			require.Zero(t, n, "a second time there is nothing to do")
			require.Equal(t, tables, readSchema(t, db, d).names())
			require.NoError(t, migrations.Down(ctx, db, d))
			require.Empty(t, readSchema(t, db, d).names())
		}
	})
}

func TestCheckNamesTheCommandAndWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d migrations.Dialect) {
		ctx := context.Background()
		err := migrations.Check(ctx, db, d)
		require.ErrorIs(t, err, migrations.ErrSchemaOld)
		require.ErrorContains(t, err, "seckill migrate")
		v, err := migrations.Version(ctx, db, d)
		require.NoError(t, err)
		require.Zero(t, v, "the check made no version table")

		_, err = migrations.Up(ctx, db, d)
		require.NoError(t, err)
		require.NoError(t, migrations.Check(ctx, db, d))
		_, err = db.Exec("DELETE FROM goose_db_version WHERE version_id = ?", files)
		require.NoError(t, err)
		require.ErrorIs(t, migrations.Check(ctx, db, d), migrations.ErrSchemaOld)
		_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1), (99, 1)", files)
		require.NoError(t, err)
		require.NoError(t, migrations.Check(ctx, db, d), "a newer schema is accepted")
	})
}

// Several programs that migrate one MySQL server at the same time.
func TestUpAtTheSameTime(t *testing.T) {
	db := openDB(t, "mysql", backendtest.MariaDB(t))
	var wg sync.WaitGroup
	done := make([]int, 4)
	for i := range done {
		wg.Go(func() {
			var err error
			done[i], err = migrations.Up(context.Background(), db, migrations.MySQL)
			require.NoError(t, err)
		})
	}
	wg.Wait()
	slices.Sort(done)
	require.Equal(t, []int{0, 0, 0, files}, done)
}

// The two dialects describe the same tables: same columns, nullability, keys and indexes.
func TestTheDialectsAgree(t *testing.T) {
	lite := openDB(t, "sqlite", backendtest.SQLite(t))
	_, err := migrations.Up(context.Background(), lite, migrations.SQLite)
	require.NoError(t, err)
	want := readSchema(t, lite, migrations.SQLite)
	require.Equal(t, tables, want.names())

	// The MySQL files are plain enough to run on SQLite, so a difference shows also where there is no server.
	t.Run("the mysql files on sqlite", func(t *testing.T) {
		db := openDB(t, "sqlite", backendtest.SQLite(t))
		runMySQLFiles(t, db)
		require.Equal(t, want, readSchema(t, db, migrations.SQLite))
	})
	t.Run("the mysql files on mariadb", func(t *testing.T) {
		db := openDB(t, "mysql", backendtest.MariaDB(t))
		_, err := migrations.Up(context.Background(), db, migrations.MySQL)
		require.NoError(t, err)
		require.Equal(t, want, readSchema(t, db, migrations.MySQL))
	})
}

var (
	tableOptions = regexp.MustCompile(`\) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;`)
	up           = regexp.MustCompile(`(?s)-- \+goose Up\n(.*)-- \+goose Down`)
)

func runMySQLFiles(t *testing.T, db *sql.DB) {
	t.Helper()
	files, err := fs.Glob(migrations.Files, "mysql/*.sql")
	require.NoError(t, err)
	for _, f := range files {
		text, err := fs.ReadFile(migrations.Files, f)
		require.NoError(t, err)
		_, err = db.Exec(tableOptions.ReplaceAllString(up.FindStringSubmatch(string(text))[1], ");"))
		require.NoError(t, err, f)
	}
}

// The constraints do what their comments say, on both engines.
func TestConstraints(t *testing.T) {
	const voucher = "INSERT INTO vouchers (id, title, stock, price_cents, begin_at, end_at, created_at) VALUES "
	const order = "INSERT INTO orders (id, voucher_id, user_id, claim_user_id, status, price_cents, created_at, updated_at) VALUES "
	const day, next = "'2026-01-01 00:00:00'", "'2026-01-02 00:00:00'"
	each(t, func(t *testing.T, db *sql.DB, d migrations.Dialect) {
		_, err := migrations.Up(context.Background(), db, d)
		require.NoError(t, err)
		for _, c := range []struct {
			name, sql string
			ok        bool
		}{
			{"a voucher", voucher + "(1, 'a', 0, 0, " + day + "," + next + "," + day + ")", true},
			{"the same id", voucher + "(1, 'a', 0, 0, " + day + "," + next + "," + day + ")", false},
			{"negative stock", voucher + "(2, 'a', -1, 0, " + day + "," + next + "," + day + ")", false},
			{"negative price", voucher + "(2, 'a', 0, -1, " + day + "," + next + "," + day + ")", false},
			{"empty window", voucher + "(2, 'a', 0, 0, " + day + "," + day + "," + day + ")", false},
			{"a stock row may go below zero", "INSERT INTO stock VALUES (1, -1, 0, 0)", true},
			{"a second stock row", "INSERT INTO stock VALUES (1, 1, 0, 0)", false},
			{"units", "INSERT INTO stock_units VALUES (1, 1, NULL), (1, 2, NULL), (1, 3, 7)", true},
			{"the same unit", "INSERT INTO stock_units VALUES (1, 1, NULL)", false},
			{"an order's second unit", "UPDATE stock_units SET order_id = 7 WHERE unit = 1", false},
			{"an order", order + "(1, 1, 5, 5, 'created', 0, " + day + "," + day + ")", true},
			{"its id again", order + "(1, 1, 6, 6, 'created', 0, " + day + "," + day + ")", false},
			{"its user again", order + "(2, 1, 5, 5, 'created', 0, " + day + "," + day + ")", false},
			{"its user without a claim", order + "(2, 1, 5, NULL, 'created', 0, " + day + "," + day + ")", true},
			{"its user at another voucher", order + "(3, 2, 5, 5, 'created', 0, " + day + "," + day + ")", true},
			{"somebody else's claim", order + "(4, 3, 5, 6, 'created', 0, " + day + "," + day + ")", false},
			{"an unknown state", order + "(4, 3, 5, 5, 'stolen', 0, " + day + "," + day + ")", false},
			{"a worker number", "INSERT INTO workers VALUES (1023, 'a', 0)", true},
			{"one that has more than ten bits", "INSERT INTO workers VALUES (1024, 'a', 0)", false},
			{"a due return", "INSERT INTO due_returns VALUES (1, 1, 5, 0, " + day + ")", true},
			{"the same order's again", "INSERT INTO due_returns VALUES (1, 1, 5, 1, " + day + ")", false},
			{"more than one unit", "INSERT INTO due_returns VALUES (2, 1, 5, 2, " + day + ")", false},
			{"a key", "INSERT INTO idempotency_keys VALUES (5, 'k', 'h', 1, 1, 0, NULL, " + day + ")", true},
			{"the user's same key", "INSERT INTO idempotency_keys VALUES (5, 'k', 'h', 2, 1, 0, NULL, " + day + ")", false},
			{"another case", "INSERT INTO idempotency_keys VALUES (5, 'K', 'h', 2, 1, 0, NULL, " + day + ")", true},
			{"another user's key", "INSERT INTO idempotency_keys VALUES (6, 'k', 'h', 2, 1, 0, NULL, " + day + ")", true},
		} {
			_, err := db.Exec(c.sql)
			require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
		}
	})
}
