// Package backendtest gives tests real servers: spawned once per test binary, shared by its tests, and stopped by
// Main. A test that needs a program which is not installed is skipped with the reason, or fails when
// SECKILL_REQUIRE_SERVERS=1.
package backendtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"seckill/repository/backend"
)

// requireServers names the environment variable that turns a skip into a failure.
const requireServers = "SECKILL_REQUIRE_SERVERS"

// mysqlDSN names the environment variable with the DSN of a MySQL server, without a database, that tests shall use
// as well; its user must be allowed to create databases.
const mysqlDSN = "SECKILL_TEST_MYSQL"

// Main is for TestMain: it runs the tests, stops the shared servers, looks for leaked goroutines and returns the
// exit code.
//
//	func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }
func Main(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	if err := errors.Join(shared.redis.stop(), shared.db.stop()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the servers of the tests:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(options...); err != nil {
			fmt.Fprintln(os.Stderr, "goleak:", err)
			code = 1
		}
	}
	return code
}

// Skip ends a test that can't run without a program: skipped with the error as the reason, or failed when
// SECKILL_REQUIRE_SERVERS=1. Any error but backend.ErrMissing fails the test.
func Skip(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, backend.ErrMissing) && os.Getenv(requireServers) != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// Redis returns the URL of a real Redis server that all tests of the binary share, so a test uses keys of its own.
func Redis(t testing.TB) string {
	t.Helper()
	r, err := shared.redis.get()
	if err != nil {
		Skip(t, err)
	}
	return r.URLs[0]
}

// RedisNodes returns n real Redis servers of the test's own.
func RedisNodes(t testing.TB, n int) *backend.Redis {
	t.Helper()
	return own(t, func(ctx context.Context) (*backend.Redis, error) { return backend.SpawnRedis(ctx, n) })
}

// EmbeddedRedis returns n embedded Redis servers of the test's own.
func EmbeddedRedis(t testing.TB, n int) *backend.Redis {
	t.Helper()
	return own(t, func(context.Context) (*backend.Redis, error) { return backend.EmbeddedRedis(n) })
}

// RedisCluster returns a real Redis Cluster of n primaries, of the test's own.
func RedisCluster(t testing.TB, n int) *backend.Topology {
	t.Helper()
	return own(t, func(ctx context.Context) (*backend.Topology, error) { return backend.SpawnCluster(ctx, n) })
}

// RedisSentinel returns a primary, a replica and three sentinels of the test's own.
func RedisSentinel(t testing.TB) *backend.Topology {
	t.Helper()
	return own(t, func(ctx context.Context) (*backend.Topology, error) { return backend.SpawnSentinel(ctx) })
}

// SQLite returns the DSN of a SQLite file of the test's own that does not exist yet.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite://" + filepath.ToSlash(filepath.Join(t.TempDir(), "test.db"))
}

// MigratedSQLite returns the DSN of a SQLite file of the test's own with the schema that migrate makes. It runs once in
// the test binary; later files are copies.
func MigratedSQLite[R any](t testing.TB, migrate func(ctx context.Context, dsn string) (R, error)) string {
	t.Helper()
	schema.once.Do(func() {
		dsn := SQLite(t)
		if _, err := migrate(context.Background(), dsn); err != nil {
			t.Fatal(err)
		}
		var err error
		if schema.file, err = os.ReadFile(strings.TrimPrefix(dsn, "sqlite://")); err != nil {
			t.Fatal(err)
		}
	})
	dsn := SQLite(t)
	if err := os.WriteFile(strings.TrimPrefix(dsn, "sqlite://"), schema.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// schema is a database without rows.
var schema struct {
	once sync.Once
	file []byte
}

// MariaDB returns the DSN of an empty database of the test's own on the shared, spawned server.
func MariaDB(t testing.TB) string {
	t.Helper()
	db, err := shared.db.get()
	if err != nil {
		Skip(t, err)
	}
	return newDatabase(t, strings.TrimSuffix(db.DSN, "seckill"))
}

// OwnDB returns a spawned database server of the test's own, for tests that look at or disturb the server itself.
func OwnDB(t testing.TB) *backend.DB {
	t.Helper()
	return own(t, backend.SpawnDB)
}

// EachDB runs the test on every kind of database there is: SQLite always, the spawned server when one is
// installed, and the server that SECKILL_TEST_MYSQL names. Each run gets an empty database of its own.
func EachDB(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, MariaDB(t)) })
	if dsn := os.Getenv(mysqlDSN); dsn != "" {
		t.Run("mysql", func(t *testing.T) { test(t, newDatabase(t, dsn)) })
	}
}

// own starts servers for one test.
func own[S interface{ Stop() error }](t testing.TB, start func(context.Context) (S, error)) S {
	t.Helper()
	s, err := start(t.Context())
	if err != nil {
		Skip(t, err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newDatabase creates a database on the server that dsn (mysql://… or a driver DSN, ending in "/") names, and
// drops it after the test.
func newDatabase(t testing.TB, dsn string) string {
	t.Helper()
	driverDSN := dsn
	if rest, ok := strings.CutPrefix(dsn, "mysql://root@"); ok {
		driverDSN = "root@tcp(" + strings.TrimSuffix(rest, "/") + ")/"
	}
	cfg, err := mysql.ParseDSN(driverDSN)
	if err != nil {
		t.Fatalf("%s: %v", mysqlDSN, err)
	}
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), databases.next())
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	cfg.DBName = name
	return cfg.FormatDSN()
}

var databases counter

// counter numbers the databases of this test binary.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// shared are the servers of this test binary, started by the first test that asks.
var shared = struct {
	redis lazy[*backend.Redis]
	db    lazy[*backend.DB]
}{
	redis: lazy[*backend.Redis]{start: func() (*backend.Redis, error) {
		return backend.SpawnRedis(context.Background(), 1)
	}},
	db: lazy[*backend.DB]{start: func() (*backend.DB, error) { return backend.SpawnDB(context.Background()) }},
}

type lazy[S interface{ Stop() error }] struct {
	start   func() (S, error)
	mu      sync.Mutex
	started bool
	server  S
	err     error
}

func (l *lazy[S]) get() (S, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started {
		l.server, l.err = l.start()
		l.started = true
	}
	return l.server, l.err
}

func (l *lazy[S]) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started || l.err != nil {
		return nil
	}
	return l.server.Stop()
}
