//go:build unix

package backend_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend"
	"seckill/repository/backend/backendtest"
)

func connect(t *testing.T, db *backend.DB) *sql.DB {
	t.Helper()
	addr, name, _ := strings.Cut(strings.TrimPrefix(db.DSN, "mysql://root@"), "/")
	c, err := sql.Open("mysql", "root@tcp("+addr+")/"+name)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSpawnedDatabase(t *testing.T) {
	db := backendtest.OwnDB(t)
	c := connect(t, db)
	require.Contains(t, []string{"mariadb", "mysql"}, db.Kind)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, db.Version)
	var tables, conns int
	var bind, isolation, datadir string
	require.NoError(t, c.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables))
	require.NoError(t, c.QueryRow("SELECT @@max_connections, @@bind_address, @@datadir").Scan(&conns, &bind, &datadir))
	require.NoError(t, c.QueryRow("SELECT variable_value FROM information_schema.global_variables WHERE variable_name IN ('tx_isolation', 'transaction_isolation') LIMIT 1").Scan(&isolation))
	require.Zero(t, tables)
	require.Equal(t, 500, conns)
	require.Equal(t, "127.0.0.1", bind)
	require.Equal(t, "REPEATABLE-READ", isolation)

	// A fault drill: frozen it does not answer (once the signal has reached all its threads), thawed it does.
	require.NoError(t, db.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		return c.PingContext(ctx) != nil
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, db.Signal(syscall.SIGCONT))
	require.NoError(t, c.PingContext(context.Background()))

	require.DirExists(t, datadir)
	require.NoError(t, db.Stop())
	require.NoDirExists(t, datadir)
	require.Error(t, c.Ping())
}

func TestEmbeddedDatabase(t *testing.T) {
	db, err := backend.OpenDB(t.Context(), "embedded")
	require.NoError(t, err)
	require.Equal(t, "sqlite", db.Kind)
	file, ok := strings.CutPrefix(db.DSN, "sqlite://")
	require.True(t, ok)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, db.Signal(syscall.SIGSTOP), "it is no process")
	require.NoError(t, db.Stop())
	require.NoFileExists(t, file)
	require.NoError(t, db.Stop())
}

func TestSpawnedRedisKeepsNothingOnDiskAndListensOnLoopback(t *testing.T) {
	r := backendtest.RedisNodes(t, 2)
	require.Contains(t, []string{"redis", "valkey"}, r.Kind)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, r.Version)
	require.Len(t, r.URLs, 2)
	require.NotEqual(t, r.URLs[0], r.URLs[1])
	for _, url := range r.URLs {
		c, ctx := client(t, url), context.Background()
		for _, setting := range [][2]string{{"save", ""}, {"appendonly", "no"}, {"bind", "127.0.0.1"}} {
			require.Equal(t, map[string]string{setting[0]: setting[1]}, c.ConfigGet(ctx, setting[0]).Val())
		}
	}
}
