package repository

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// comPrepares is how many statements this server has prepared so far, for all its clients.
func comPrepares(t *testing.T, b bench) int {
	t.Helper()
	var name, value string
	require.NoError(t, b.pools[0].QueryRow("SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &value))
	n, err := strconv.Atoi(value)
	require.NoError(t, err)
	return n
}

// A transaction uses statements that were prepared before, on the pool; it does not prepare its own again and again.
func TestTransactionsPrepareOnce(t *testing.T) {
	// A server of its own: the counter is that of all clients.
	b := newBench(t, backendtest.OwnDB(t).DSN, Options{MaxConns: 1})
	ctx, v := context.Background(), b.voucher(t, 100)
	buyOne := func(user int64) { require.NoError(t, buy(ctx, b.Store, b.order(t, v, user))) }
	buyOne(1) // meets the texts
	buyOne(2) // prepares them
	before := comPrepares(t, b)
	for user := range int64(20) {
		buyOne(user + 3)
	}
	require.LessOrEqual(t, comPrepares(t, b)-before, 1, "one for the SHOW STATUS, none for 20 transactions")
}

// Transactions that hold all connections never wait for a statement whose preparation waits for a connection.
func TestPreparingDoesNotDeadlockASmallPool(t *testing.T) {
	dsn := backendtest.MariaDB(t)
	b := newBench(t, dsn, Options{})
	v := b.voucher(t, 1000)
	for range 10 { // a fresh store has nothing prepared
		s := openStore(t, dsn, Options{MaxConns: 2})
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		var wg sync.WaitGroup
		for range 16 {
			o := b.order(t, v, int64(b.id(t)))
			wg.Go(func() {
				require.NoError(t, s.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
					if _, err := tx.Stock(ctx, v); err != nil { // the same texts inside …
						return err
					}
					return tx.InsertOrder(ctx, o, true)
				}))
			})
			wg.Go(func() {
				_, err := s.Stock(ctx, v) // … and outside
				require.NoError(t, err)
			})
		}
		wg.Wait()
		cancel()
	}
}

// One caller's cancellation while a statement is being prepared is not handed to others.
func TestACancelledPrepareHurtsNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 1)
		s := openStore(t, b.dsn, Options{})
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%2 == 0 {
					go cancel()
				}
				_, err := s.Stock(ctx, v)
				if i%2 == 1 {
					require.NoError(t, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestTheStatementCacheIsBounded(t *testing.T) {
	b := newBench(t, backendtest.SQLite(t), Options{})
	v := b.voucher(t, 1)
	for stock := range 2 * maxPrepared { // each has a multi-row insert of its own
		require.NoError(t, b.ResetVoucher(context.Background(), v, stock))
	}
	for _, g := range []*prepared{b.db.ConnPool.(*prepared), b.writer.ConnPool.(*prepared)} {
		require.LessOrEqual(t, len(g.stmts), maxPrepared)
		require.LessOrEqual(t, len(g.missed), maxPrepared)
	}
}
