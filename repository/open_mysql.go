package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// ErrUnsupported: the engine does not have what was asked for.
var ErrUnsupported = errors.New("not supported by this database engine")

// gormConfig: no statement is printed, no transaction is opened that was not asked for, and a statement outside
// of InTx is one round trip.
func gormConfig() *gorm.Config {
	return &gorm.Config{
		Logger:                 logger.Discard,
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
	}
}

func (s *Store) openMySQL(ctx context.Context, t target) error {
	db, err := openMySQLPool(t, s.opt.MaxConns, s.opt.LockWait)
	if err != nil {
		return err
	}
	s.pools = []*sql.DB{db}
	if err := db.PingContext(ctx); err != nil {
		return mapErr(ctx, err)
	}
	g, err := gorm.Open(gormmysql.New(gormmysql.Config{Conn: newPrepared(db)}), gormConfig())
	if err != nil {
		return mapErr(ctx, err)
	}
	s.reads, s.writer = reads{db: g}, g
	return nil
}

func openMySQLPool(t target, size int, lockWait time.Duration) (*sql.DB, error) {
	c, err := mysql.NewConnector(t.mysql)
	if err != nil {
		return nil, ErrDSN
	}
	seconds := max(1, int(lockWait/time.Second))
	db := sql.OpenDB(session{c, []string{
		// The isolation level that both servers have by default and that the lesson's stages are about. It is
		// set once per connection: as an option of BEGIN it would cost a round trip every time.
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", seconds),
	}})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size) // a sale comes in a rush; reconnecting in the middle of it is what costs
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// OpenPool opens connections of their own, apart from a Store's, for locks that live on a connection (GET_LOCK):
// so its waiters can never take the connection that the holder needs to write with. size bounds the pool.
// ErrUnsupported on SQLite.
func OpenPool(ctx context.Context, dsn string, size int) (*sql.DB, error) {
	t, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if t.mysql == nil {
		return nil, fmt.Errorf("%w: SQLite has no named locks", ErrUnsupported)
	}
	db, err := openMySQLPool(t, size, 10*time.Second)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(mapErr(ctx, err), db.Close())
	}
	return db, nil
}

// session is a connector whose connections begin with some statements.
type session struct {
	driver.Connector
	statements []string
}

func (c session) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range c.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, q, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}
