package lock_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"seckill/lock"
	"seckill/lock/locktest"
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

// TestStoppedHolder is L-17: a holder that was stopped for longer than its TTL, and whose work goes on as if nothing
// had been, finds out at its first Check, and what has a fence refuses its first write.
func TestStoppedHolder(t *testing.T) {
	if addrs := os.Getenv("LOCK_TEST_HOLDER"); addrs != "" {
		holdAndGoOn(os.Getenv("LOCK_TEST_KIND"), strings.Fields(addrs), os.Getenv("LOCK_TEST_DB"))
		return
	}
	locktest.NeedServer(t)
	all := databases(t)
	for kind, nodes := range deployable {
		if kind != "fenced" { // the others have nothing that could refuse
			t.Run(kind, func(t *testing.T) { stoppedHolder(t, kind, nodes, "") })
			continue
		}
		for name, at := range all {
			t.Run(kind+" "+name, func(t *testing.T) { stoppedHolder(t, kind, nodes, at) })
		}
	}
}

func stoppedHolder(t *testing.T, kind string, nodes int, at string) {
	var addrs []string
	servers := locktest.Spawn(t, nodes)
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	var data ledger
	if at != "" {
		rdb := servers[0].Client()
		defer rdb.Close()
		data = openLedger(at, rdb)
		defer data.db.Close()
		data.reset(t)
	}
	holder := exec.Command(os.Args[0], "-test.run=^TestStoppedHolder$")
	holder.Env = append(os.Environ(), "LOCK_TEST_HOLDER="+strings.Join(addrs, " "), "LOCK_TEST_KIND="+kind, "LOCK_TEST_DB="+at)
	in, err := holder.StdinPipe()
	require.NoError(t, err)
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "holding", lines.Text())
	require.NoError(t, holder.Process.Signal(syscall.SIGSTOP))

	b, done := openAt(kind, addrs, lock.Options{Wait: 30 * time.Second, NodeTimeout: time.Second})
	defer done()
	next, err := b.Acquire(context.Background(), "k")
	require.NoError(t, err)
	defer next.Release(context.Background())
	if at != "" {
		data.supersede(t, next.Fence())
	}
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(in, "go on")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Equal(t, "refused", lines.Text())
	if at != "" {
		data.unharmed(t, next.Fence())
	}
}

// holdAndGoOn is the other process: it holds the lock, has claimed the data if there is some, and when it wakes it
// writes first and asks afterwards.
func holdAndGoOn(kind string, addrs []string, at string) {
	a, _ := openAt(kind, addrs, lock.Options{TTL: time.Second, NodeTimeout: 500 * time.Millisecond})
	l, err := a.Acquire(context.Background(), "k")
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func() []string { return nil }
	if at != "" {
		data := openLedger(at, redis.NewClient(&redis.Options{Addr: addrs[0]}))
		row, value, err := data.take(l.Fence())
		if err != nil {
			fmt.Println(err)
			return
		}
		write = func() []string { return data.lateWrites(l.Fence(), row, value) }
	}
	fmt.Println("holding")
	bufio.NewScanner(os.Stdin).Scan()
	done := write()
	if err := l.Check(); !errors.Is(err, lock.ErrLost) {
		done = append(done, fmt.Sprint("Check: ", err))
	}
	if len(done) > 0 {
		fmt.Println("not refused:", strings.Join(done, ", "))
	} else {
		fmt.Println("refused")
	}
	os.Exit(0)
}

// TestFailOver is L-38: the primary dies before its replica has the key.
func TestFailOver(t *testing.T) {
	locktest.NeedServer(t)
	for name, at := range databases(t) {
		t.Run(name, func(t *testing.T) { failOver(t, at) })
	}
}

func failOver(t *testing.T, at string) {
	ctx := context.Background()
	primary := locktest.Spawn(t, 1)[0]
	host, port, _ := strings.Cut(primary.Addr, ":")
	replica := locktest.Spawn(t, 1, "--replicaof", host, port)[0]
	p, r := primary.Client(), replica.Client()
	defer p.Close()
	defer r.Close()
	synced := func() bool {
		info, _ := r.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up")
	}
	require.Eventually(t, synced, 30*time.Second, 20*time.Millisecond)

	strictReplicas(t, p, replica)

	a := lock.New(p, lock.Options{})
	old, err := a.Fenced().Acquire(ctx, "k")
	require.NoError(t, err)
	data := openLedger(at, locktest.Spawn(t, 1)[0].Client()) // what is guarded is not what fails
	defer data.db.Close()
	defer data.rdb.Close()
	data.reset(t)
	row, value, err := data.take(old.Fence())
	require.NoError(t, err)
	primary.Kill()
	require.NoError(t, replica.Thaw())
	require.Eventually(t, func() bool { return r.Do(ctx, "replicaof", "no", "one").Err() == nil }, 30*time.Second, 20*time.Millisecond)
	r.Del(ctx, "lock:{k}") // the promoted one may have got it from its socket after all
	b := lock.New(r, lock.Options{})
	next, err := b.Fenced().Acquire(ctx, "k")
	require.NoError(t, err)
	require.Greater(t, next.Fence(), old.Fence())

	data.supersede(t, next.Fence())
	require.Empty(t, data.lateWrites(old.Fence(), row, value), "the fence refuses the former holder")
	data.unharmed(t, next.Fence())
	require.NoError(t, next.Release(ctx))
	require.NoError(t, b.Close(ctx))
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_ = a.Close(short)
}

// strictReplicas: with MinReplicas an acquire counts only when the replica has it. Afterwards the replica is frozen.
func strictReplicas(t *testing.T, p *redis.Client, replica *locktest.Server) {
	ctx := context.Background()
	strict := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 5 * time.Second})
	for _, locker := range []lock.Locker{strict.Watchdog(), strict.Fenced()} {
		l, err := locker.Acquire(ctx, "strict")
		require.NoError(t, err)
		require.NoError(t, l.Release(ctx))
	}
	require.NoError(t, strict.Close(ctx))

	require.NoError(t, replica.Freeze()) // the replica falls behind
	impatient := lock.New(p, lock.Options{MinReplicas: 1, ReplicaTimeout: 50 * time.Millisecond, TTL: 2 * time.Second})
	for key, locker := range map[string]lock.Locker{"a": impatient.Watchdog(), "b": impatient.Fenced()} {
		_, err := locker.Acquire(ctx, key)
		require.ErrorIs(t, err, lock.ErrReplicas)
	}
	require.NoError(t, impatient.Close(ctx))
	require.Zero(t, p.Exists(ctx, "lock:{a}", "lock:{b}").Val(), "an unacknowledged lock stays")
}
