package repository

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"seckill/service"
)

// recorder notes every SELECT that GORM sends and where it ran.
type recorder struct {
	mu   sync.Mutex
	sql  []string
	inTx []bool
}

func record(t *testing.T, db *gorm.DB) *recorder {
	t.Helper()
	r := &recorder{}
	require.NoError(t, db.Callback().Query().After("gorm:query").Register("test:record", func(db *gorm.DB) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, inTx := db.Statement.ConnPool.(*preparedTx)
		r.sql, r.inTx = append(r.sql, strings.TrimSpace(db.Statement.SQL.String())), append(r.inTx, inTx)
	}))
	return r
}

// S-19: the pessimistic read says FOR UPDATE and runs on the transaction.
func TestForUpdateIsInTheSQLAndOnTheTransaction(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 3)
		r := record(t, b.writer)
		for range 3 { // unprepared, prepared, cached
			b.tx(t, func(ctx context.Context, tx service.Tx) error {
				st, err := tx.StockForUpdate(ctx, v)
				require.Equal(t, 3, st.Left)
				return err
			})
		}
		want := "SELECT * FROM `stock` WHERE voucher_id = ? LIMIT ? FOR UPDATE"
		if b.Engine().Kind == "sqlite" {
			want = "SELECT * FROM `stock` WHERE voucher_id = ? LIMIT 1" // no row locks: BEGIN IMMEDIATE is the lock
		}
		require.Equal(t, []string{want, want, want}, r.sql)
		require.Equal(t, []bool{true, true, true}, r.inTx)
	})
}

// And it keeps others out until the transaction ends, on MariaDB as on SQLite.
func TestForUpdateKeepsOthersOut(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 64)
		other := openStore(t, b.dsn, Options{})
		var wg sync.WaitGroup
		for i := range 64 {
			s := []*Store{b.Store, other}[i%2]
			wg.Go(func() {
				err := s.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
					st, err := tx.StockForUpdate(ctx, v)
					if err != nil {
						return err
					}
					return tx.SetStock(ctx, v, st.Left-1, 0)
				})
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, 0, b.left(t, v), "64 read-modify-writes, none lost")
	})
}

// A row lock that is not to be had in time is ErrStoreBusy, and is retried where that is allowed.
func TestLockWaitTimeout(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 3)
		impatient := openStore(t, b.dsn, Options{LockWait: 50 * time.Millisecond}) // a second on MariaDB
		locked, free := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			b.tx(t, func(ctx context.Context, tx service.Tx) error {
				_, err := tx.StockForUpdate(ctx, v)
				close(locked)
				<-free
				return err
			})
		})
		<-locked
		take := func(ctx context.Context) error {
			return impatient.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
				_, err := tx.TakeOne(ctx, v, 0)
				return err
			})
		}
		require.ErrorIs(t, take(context.Background()), service.ErrStoreBusy)

		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		patient := openStore(t, b.dsn, Options{LockWait: time.Minute})
		err := patient.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
			_, err := tx.TakeOne(ctx, v, 0)
			return err
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), 30*time.Second, "ctx binds the wait for a lock")
		close(free)
		wg.Wait()
		require.Equal(t, 3, b.left(t, v))
	})
}

// The two ways to be refused are retried only where the caller allowed it.
func TestRetryIsForThoseWhoAskedForIt(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx := context.Background()
		s := openStore(t, b.dsn, Options{Retries: 4})
		for retry, want := range map[bool]int{false: 1, true: 5} {
			n := 0
			err := s.InTx(ctx, service.TxOptions{Retry: retry}, func(service.Tx) error {
				n++
				return service.ErrStoreBusy
			})
			require.ErrorIs(t, err, service.ErrStoreBusy)
			require.Equal(t, want, n)
		}
	})
}

// Two sessions that lock two rows crosswise: one is told 1213, and its retry goes through.
func TestADeadlockIsRetried(t *testing.T) {
	onMariaDB(t, func(t *testing.T, b bench) {
		ctx := context.Background()
		v := [2]service.ID{b.voucher(t, 5), b.voucher(t, 5)}
		var meet sync.WaitGroup
		meet.Add(2)
		var calls, wg = make([]int, 2), sync.WaitGroup{}
		for i := range 2 {
			wg.Go(func() {
				err := b.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
					calls[i]++
					if _, err := tx.TakeOne(ctx, v[i], 0); err != nil {
						return err
					}
					if calls[i] == 1 {
						meet.Done()
						meet.Wait()
					}
					_, err := tx.TakeOne(ctx, v[1-i], 0)
					return err
				})
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, 3, calls[0]+calls[1], "exactly one of the two ran twice")
		require.Equal(t, [2]int{3, 3}, [2]int{b.left(t, v[0]), b.left(t, v[1])})
	})
}
