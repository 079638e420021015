package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/glebarez/sqlite"
	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"seckill/lock"
)

// server is the Redis of an example.
func server() (*redis.Client, func()) {
	srv, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	return rdb, func() { rdb.Close(); srv.Close() }
}

// One lock, held while something is done.
func Example() {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{TTL: 10 * time.Second})
	defer client.Close(context.Background())

	lease, err := client.Watchdog().Acquire(context.Background(), "voucher:1")
	if err != nil {
		fmt.Println("not now:", err)
		return
	}
	fmt.Println("ours:", lease.Check() == nil)
	fmt.Println("released:", lease.Release(context.Background()) == nil)
	// Output:
	// ours: true
	// released: true
}

// Waiting with a limit. A context that ends earlier ends the wait, never the lease.
func ExampleLocker_wait() {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{Wait: 50 * time.Millisecond})
	defer client.Close(context.Background())
	locker := client.Watchdog()

	lease, _ := locker.Acquire(context.Background(), "voucher:1")
	defer lease.Release(context.Background())
	_, err := locker.Acquire(context.Background(), "voucher:1")
	fmt.Println("busy:", errors.Is(err, lock.ErrBusy))
	// Output: busy: true
}

// Re-entry is a matter of the context: who is given the lease's context shares the lock.
func ExampleLocker_reentry() {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{})
	defer client.Close(context.Background())
	locker := client.Watchdog()

	save := func(ctx context.Context) error {
		lease, err := locker.Acquire(ctx, "voucher:1")
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
	lease, _ := locker.Acquire(context.Background(), "voucher:1")
	fmt.Println("inside:", save(lease.Context()))
	fmt.Println("a stranger is refused:", errors.Is(save(context.Background()), lock.ErrBusy))
	fmt.Println("still ours:", lease.Release(context.Background()) == nil)
	// Output:
	// inside: <nil>
	// a stranger is refused: true
	// still ours: true
}

// The watchdog keeps the lock while the work lasts; when it is lost all the same, the lease's context ends.
func ExampleLease_Context() {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{TTL: 150 * time.Millisecond})
	defer client.Close(context.Background())

	lease, _ := client.Watchdog().Acquire(context.Background(), "voucher:1")
	rdb.FlushAll(context.Background()) // somebody makes Redis forget everything
	<-lease.Context().Done()           // the work runs on this context, and stops here
	fmt.Println("lost:", errors.Is(context.Cause(lease.Context()), lock.ErrLost))
	fmt.Println("release says so:", errors.Is(lease.Release(context.Background()), lock.ErrLost))
	// Output:
	// lost: true
	// release says so: true
}

// A fenced SQL write: claim the row, read, write with the fence. The late write of a former holder touches no row.
func ExampleSQLGuard() {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{})
	defer client.Close(context.Background())
	db, closeDB := database()
	defer closeDB()
	ctx := context.Background()
	guard, _ := lock.NewSQLGuard("stock", "id", "fence")
	const write = "UPDATE stock SET n = ? WHERE id = ? AND fence = ?"

	old, _ := client.Fenced().Acquire(ctx, "stock:1")
	claimed, _ := guard.Claim(ctx, db, 1, old.Fence())
	rdb.Del(ctx, "lock:{stock:1}") // the holder is paused here, and its lease passes

	next, _ := client.Fenced().Acquire(ctx, "stock:1")
	now, err := guard.Claim(ctx, db, 1, next.Fence())
	fmt.Println("the next holder claims:", err)
	fmt.Println("and writes:", now.Exec(ctx, db, write, 9, 1, now.Fence()))
	err = claimed.Exec(ctx, db, write, 99, 1, claimed.Fence())
	fmt.Println("the late one is refused:", errors.Is(err, lock.ErrLost))
	// Output:
	// the next holder claims: <nil>
	// and writes: <nil>
	// the late one is refused: true
}

// A lock in three independent servers, of which one may be lost.
func ExampleNewQuorum() {
	var nodes []redis.UniversalClient
	for range 3 {
		rdb, stop := server()
		defer stop()
		nodes = append(nodes, rdb)
	}
	quorum, err := lock.NewQuorum(nodes, lock.Options{TTL: 10 * time.Second, NodeTimeout: time.Second})
	if err != nil {
		panic(err)
	}
	defer func() { // it would go on to clean up on the lost node until the TTL is over
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		quorum.Close(ctx)
	}()
	nodes[0].Close()

	lease, err := quorum.Acquire(context.Background(), "voucher:1")
	fmt.Println("acquired:", err)
	fmt.Println("released:", lease.Release(context.Background()))
	// Output:
	// acquired: <nil>
	// released: <nil>
}

func database() (*sql.DB, func()) {
	orm, err := gorm.Open(sqlite.Open("file:example?mode=memory&cache=shared"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	db, err := orm.DB()
	if err != nil {
		panic(err)
	}
	for _, q := range []string{"CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER, fence INTEGER DEFAULT 0)", "INSERT INTO stock (id, n) VALUES (1, 10)"} {
		if _, err := db.Exec(q); err != nil {
			panic(err)
		}
	}
	return db, func() { db.Close() }
}
