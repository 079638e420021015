package repository

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// Errors are told apart by number: the text here says something else on purpose.
func TestMySQLErrorsByNumber(t *testing.T) {
	for number, want := range map[uint16]error{
		1062: errDuplicate, 1213: service.ErrStoreBusy, 1205: service.ErrStoreBusy, 1020: service.ErrStoreBusy,
		3572: service.ErrStoreBusy,
	} {
		driver := &mysql.MySQLError{Number: number, Message: "Duplicate entry, Deadlock found"}
		err := mapErr(context.Background(), fmt.Errorf("wrapped: %w", driver))
		require.ErrorIs(t, err, want)
		require.ErrorAs(t, err, &driver, "the original stays in the chain")
	}
	other := &mysql.MySQLError{Number: 1054, Message: "Duplicate entry, Deadlock found"}
	require.Equal(t, error(other), mapErr(context.Background(), other))
	require.NoError(t, mapErr(context.Background(), nil))
	require.Equal(t, service.ErrNotFound, mapErr(context.Background(), gorm.ErrRecordNotFound))
}

func TestSQLiteErrorsByNumber(t *testing.T) {
	ctx := context.Background()
	dsn := backendtest.SQLite(t)
	b := newBench(t, dsn, Options{})
	row := workerRow{Worker: 1, Owner: "a"}
	require.NoError(t, b.writer.Create(&row).Error)
	require.ErrorIs(t, mapErr(ctx, b.writer.Create(&row).Error), errDuplicate, "primary key")

	orders := []orderRow{{ID: 1, Status: "created", ClaimUserID: new(int64)}, {ID: 2, Status: "created", ClaimUserID: new(int64)}}
	require.ErrorIs(t, mapErr(ctx, b.writer.Create(&orders).Error), errDuplicate, "unique index")

	// Another process writes: BUSY comes from BEGIN, after the wait.
	other := openStore(t, dsn, Options{LockWait: 1})
	b.tx(t, func(context.Context, service.Tx) error {
		require.ErrorIs(t, other.InTx(ctx, service.TxOptions{}, func(service.Tx) error { return nil }), service.ErrStoreBusy)
		return nil
	})
}

// When ctx has ended, that and its cause are the error, whatever the driver says.
func TestAnEndedContextIsTheError(t *testing.T) {
	cause := errors.New("the lease is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, err := range []error{nil, &mysql.MySQLError{Number: 1062}} {
		got := mapErr(ctx, err)
		require.ErrorIs(t, got, context.Canceled)
		require.ErrorIs(t, got, cause)
		require.NotErrorIs(t, got, errDuplicate)
	}
}
