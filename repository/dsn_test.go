package repository

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"seckill/repository/backend/backendtest"
)

func TestParseDSN(t *testing.T) {
	for _, c := range []struct{ dsn, addr, user, password, db string }{
		{"mysql://shop:s3cret@db:3307/seckill", "db:3307", "shop", "s3cret", "seckill"},
		{"mysql://shop:s%40cr%2Fet@db/seckill?readTimeout=7s", "db:3306", "shop", "s@cr/et", "seckill"},
		{"mariadb://root@127.0.0.1:33060/seckill", "127.0.0.1:33060", "root", "", "seckill"},
		{"shop:s3cret@tcp(db:3307)/seckill?timeout=3s", "db:3307", "shop", "s3cret", "seckill"},
		{"root@tcp(db)/seckill", "db:3306", "root", "", "seckill"},
		{"shop@unix(/run/mysqld.sock)/seckill", "/run/mysqld.sock", "shop", "", "seckill"},
	} {
		got, err := parseDSN(c.dsn)
		require.NoError(t, err, c.dsn)
		require.Equal(t, MySQL, got.engine())
		m := got.mysql
		require.Equal(t, c, struct{ dsn, addr, user, password, db string }{c.dsn, m.Addr, m.User, m.Passwd, m.DBName})
		require.True(t, m.ParseTime && m.ClientFoundRows && m.Loc == time.UTC, c.dsn)
		require.Equal(t, "'+00:00'", m.Params["time_zone"])
	}
	got, err := parseDSN("sqlite:///tmp/a b/x?.db")
	require.NoError(t, err)
	require.Equal(t, target{file: "/tmp/a b/x?.db"}, got)
}

// What is no address is refused, and no error ever shows a password.
func TestParseDSNRefuses(t *testing.T) {
	for _, dsn := range []string{
		"", "seckill", "embedded", "sqlite://", "sqlite://rel/path.db", "sqlite:///", "postgres://u:s3cret@h/db",
		"mysql://u:s3cret@h", "mysql://u:s3cret@h/", "mysql:///db", "mysql://u:s3cret@h:port/db", "u:s3cret@tcp(h:1/db",
		"mysql://u:s3cret@h/db?parseTime=maybe", "u:s3cret@tcp(h)/", "u:s3cret@h/db",
	} {
		_, err := parseDSN(dsn)
		require.ErrorIs(t, err, ErrDSN, dsn)
		require.NotContains(t, err.Error(), "s3cret", dsn)
	}
}

func FuzzParseDSN(f *testing.F) {
	f.Add("mysql://u:p@h:1/db?x=y")
	f.Add("u:p@tcp(h:1)/db")
	f.Fuzz(func(t *testing.T, dsn string) {
		got, err := parseDSN(dsn)
		require.Equal(t, err == nil, got.file != "" || got.mysql != nil)
	})
}

func TestOpenSaysWhatAnswers(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		require.NoError(t, b.Ping(context.Background()))
		info := b.Engine()
		require.Contains(t, []string{"sqlite", "mariadb", "mysql"}, info.Kind)
		require.Regexp(t, `^\d+\.\d+\.\d+$`, info.Version)
	})
}

// The session is what the store relies on, whatever the server's defaults are.
func TestMySQLSession(t *testing.T) {
	onMariaDB(t, func(t *testing.T, b bench) {
		var zone, isolation string
		err := b.pools[0].QueryRow("SELECT @@time_zone, @@tx_isolation").Scan(&zone, &isolation)
		require.NoError(t, err)
		require.Equal(t, [2]string{"+00:00", "REPEATABLE-READ"}, [2]string{zone, isolation})
	})
}

func TestSQLiteSession(t *testing.T) {
	b := newBench(t, backendtest.SQLite(t), Options{})
	for _, pool := range b.pools {
		var mode string
		require.NoError(t, pool.QueryRow("PRAGMA journal_mode").Scan(&mode))
		require.Equal(t, "wal", mode)
	}
}

// Processes that meet at a file which none of them has opened before all get it.
func TestSQLiteOpenedByManyAtOnce(t *testing.T) {
	for range 20 {
		dsn := "sqlite://" + t.TempDir() + "/new.db"
		var all errgroup.Group
		for range 8 {
			all.Go(func() error {
				store, err := Open(t.Context(), dsn, Options{SkipSchemaCheck: true})
				if err != nil {
					return err
				}
				return store.Close()
			})
		}
		require.NoError(t, all.Wait())
	}
}

func TestOpenPool(t *testing.T) {
	ctx := context.Background()
	_, err := OpenPool(ctx, backendtest.SQLite(t), 1)
	require.ErrorIs(t, err, ErrUnsupported)

	db, err := OpenPool(ctx, backendtest.MariaDB(t), 2)
	require.NoError(t, err)
	defer db.Close()
	require.Equal(t, 2, db.Stats().MaxOpenConnections)
	var got int
	require.NoError(t, db.QueryRow("SELECT GET_LOCK('a', 0)").Scan(&got))
	require.Equal(t, 1, got)
}

func TestOpenFailsClearly(t *testing.T) {
	_, err := Open(context.Background(), "sqlite:///no/such/directory/x.db", Options{})
	require.ErrorContains(t, err, "/no/such/directory/x.db")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = Open(ctx, "mysql://root:s3cret@127.0.0.1:1/seckill", Options{})
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "s3cret")
}
