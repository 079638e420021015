package lock

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"time"
)

// GetLock is the database's own lock: MySQL's and MariaDB's GET_LOCK and RELEASE_LOCK. It belongs to a session, so every
// lease and every waiter holds a connection; hence the pool of its own, whose waiters then can't keep the holder from
// the connection that its work needs.
//
// It has no expiry: a crashed holder's session ends and the lock with it. What it costs is connections.
type GetLock struct{ *locker }

// NewGetLock makes the lock on db, a pool that nothing else uses and that stays the caller's to close. A pool with a
// limit makes callers wait for a connection first; that counts as waiting for the lock.
func NewGetLock(db *sql.DB, o Options) *GetLock {
	bg := newBackground()
	return &GetLock{&locker{kind: "get-lock", o: o.withDefaults(), bg: bg, alg: &session{db: db, o: o, bg: bg}}}
}

// Close is as Client.Close.
func (g *GetLock) Close(ctx context.Context) error { return g.bg.close(ctx) }

type session struct {
	db *sql.DB
	o  Options
	bg *background
}

// slice bounds one GET_LOCK, so that a cancelled waiter's session does not go on waiting in the server for long.
const slice = time.Second

// acquire waits in the server, not here. SELECT GET_LOCK(name, seconds) answers 1, 0 after the wait, or NULL.
func (s *session) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.bg.open, cancel)()
	conn, err := s.db.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		return grant{}, nil // every connection has a holder or a waiter: as busy as the lock
	}
	if err != nil {
		return grant{}, err
	}
	for {
		wait, asked := s.seconds(ctx), time.Now()
		var got sql.NullInt64
		err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", sessionName(key), wait).Scan(&got)
		switch late := time.Since(asked) - time.Duration(wait)*time.Second; {
		case err != nil && ctx.Err() != nil && late < defaultDeaf:
			drop(conn)
			return grant{}, nil // the holder was there all the time: busy, not silent
		case err != nil:
			drop(conn)
			return grant{}, err
		case got.Int64 == 1:
			return grant{held: true, res: conn}, nil
		case wait == 0:
			return grant{}, conn.Close()
		}
	}
}

// drop ends the session: whatever lock it may have, it must not go back to the pool with it.
func drop(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// seconds is how long the server may wait now. MySQL takes whole seconds only.
func (s *session) seconds(ctx context.Context) int {
	if deadline, ok := ctx.Deadline(); s.o.Wait == 0 || ok && time.Until(deadline) < slice {
		return 0
	}
	return int(slice / time.Second)
}

// release: SELECT RELEASE_LOCK(name) answers 1, 0 (another session's) or NULL (nobody's).
func (s *session) release(ctx context.Context, r *removal) error {
	conn := r.own.res.(*sql.Conn)
	defer conn.Close()
	var freed sql.NullInt64
	r.sending()
	err := conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(?)", sessionName(r.key)).Scan(&freed)
	if err != nil {
		drop(conn)
		return fmt.Errorf("%w: the session: %w", ErrLost, err)
	}
	return r.reply(freed.Int64, nil)
}

func (s *session) abandon(*ownership) {}

// sessionName fits every key into the 64 characters that MySQL allows.
func sessionName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
