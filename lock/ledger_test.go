package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"seckill/lock"
	"seckill/repository/backend"
)

// ledger is guarded data that a late holder tries to write: two rows in a database and one value in Redis.
type ledger struct {
	db    *sql.DB
	rows  lock.SQLGuard
	rdb   redis.UniversalClient
	value lock.RedisGuard
}

var putValue = lock.FencedScript(`redis.call('SET', KEYS[1], ARGV[1]) return ARGV[1]`)

// openLedger opens the data. at is the driver and its data source name.
func openLedger(at string, rdb *redis.Client) ledger {
	driver, dsn, _ := strings.Cut(at, " ")
	var db *sql.DB
	var err error
	if driver == "sqlite" {
		var orm *gorm.DB
		if orm, err = gorm.Open(sqlite.Open(dsn), &gorm.Config{}); err == nil {
			db, err = orm.DB()
		}
	} else {
		db, err = sql.Open(driver, dsn)
	}
	rows, bad := lock.NewSQLGuard("guarded", "id", "fence")
	if err = errors.Join(err, bad); err != nil {
		panic(err)
	}
	return ledger{db, rows, rdb, lock.NewRedisGuard(rdb, "{data}:guard")}
}

// databases are the data sources that the guards are tried on, each with an empty ledger.
func databases(t *testing.T) map[string]string {
	all := map[string]string{"SQLite": "sqlite file:" + filepath.Join(t.TempDir(), "ledger.db") + "?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)"}
	srv, err := backend.SpawnDB(context.Background())
	if !errors.Is(err, backend.ErrMissing) || os.Getenv("SECKILL_REQUIRE_SERVERS") == "1" {
		require.NoError(t, err)
		t.Cleanup(func() { srv.Stop() })
		u, err := url.Parse(srv.DSN)
		require.NoError(t, err)
		all["MariaDB"] = "mysql " + u.User.Username() + "@tcp(" + u.Host + ")" + u.Path
	}
	return all
}

// reset makes both rows and the value 10, claimed by nobody.
func (l ledger) reset(t *testing.T) {
	for _, q := range []string{"DROP TABLE IF EXISTS guarded", "INSERT INTO guarded VALUES (1, 10, 0), (2, 10, 0)"} {
		if strings.HasPrefix(q, "INSERT") {
			_, err := l.db.Exec("CREATE TABLE guarded (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, fence BIGINT NOT NULL)")
			require.NoError(t, err)
		}
		_, err := l.db.Exec(q)
		require.NoError(t, err)
	}
	require.NoError(t, l.rdb.Del(context.Background(), "{data}:guard").Err())
	require.NoError(t, l.rdb.Set(context.Background(), "{data}", "10", 0).Err())
}

// take claims the first row and the value, and returns how to write them.
func (l ledger) take(fence int64) (row func(n int) error, value func(n int) error, err error) {
	ctx := context.Background()
	claimed, err := l.rows.Claim(ctx, l.db, 1, fence)
	if err == nil {
		err = l.value.Claim(ctx, fence)
	}
	row = func(n int) error {
		return claimed.Exec(ctx, l.db, "UPDATE guarded SET n = ? WHERE id = 1 AND fence = ?", n, claimed.Fence())
	}
	value = func(n int) error {
		_, err := l.value.Run(ctx, putValue, fence, []string{"{data}"}, n)
		return err
	}
	return row, value, err
}

// supersede is the next holder's work: it claims everything and writes 9.
func (l ledger) supersede(t *testing.T, fence int64) {
	row, value, err := l.take(fence)
	require.NoError(t, err)
	_, err = l.rows.Claim(context.Background(), l.db, 2, fence)
	require.NoError(t, err)
	require.NoError(t, row(9))
	require.NoError(t, value(9))
}

// lateWrites tries every write of a former holder, which took row and value in time, and names those that were not
// refused.
func (l ledger) lateWrites(fence int64, row, value func(n int) error) (done []string) {
	ctx := context.Background()
	_, second := l.rows.Claim(ctx, l.db, 2, fence)
	_, again := l.rows.Claim(ctx, l.db, 1, fence)
	for what, err := range map[string]error{
		"write of the row": row(99), "claim of the row": again, "claim of another row": second,
		"write of the value": value(99), "claim of the value": l.value.Claim(ctx, fence),
	} {
		if !errors.Is(err, lock.ErrLost) {
			done = append(done, fmt.Sprintf("%s: %v", what, err))
		}
	}
	return done
}

// unharmed: everything is as the next holder left it.
func (l ledger) unharmed(t *testing.T, fence int64) {
	for id, want := range map[int]int{1: 9, 2: 10} {
		var n int
		var owner int64
		require.NoError(t, l.db.QueryRow("SELECT n, fence FROM guarded WHERE id = ?", id).Scan(&n, &owner))
		require.Equal(t, want, n, "row %d", id)
		require.Equal(t, fence, owner, "row %d", id)
	}
	require.Equal(t, "9", l.rdb.Get(context.Background(), "{data}").Val())
}
