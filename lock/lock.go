// Package lock holds the locks of the ladder, from a process mutex to a fenced, renewed lease.
//
// Every lock is a Locker and hands out a *Lease. The teaching locks keep only their own idea, faithful to its mistake;
// the deployable ones (watchdog, fenced, redlock) keep every promise written on Locker and Lease. Which lock keeps
// which promise is not a matter of belief: package locktest holds each against the same laws, faults included.
//
// # What they promise
//
//   - mutex: exclusion inside one process.
//   - hash, incr, setnx, setnx-expire, setnx-repair, expire, token: what their own comments say, and no more.
//   - lua: exclusion while the work is faster than the TTL, and a release that never frees another's lock.
//   - reentrant-simple, reentrant: the same, and the holder's own methods may enter again.
//   - redislock: lua, refreshed while the work lasts.
//   - watchdog: exclusion while the holder's process runs, however long the work takes. The holder learns of a loss
//     before anybody else can own the lock: by Lease.Context, Check and Remaining, measured on its own monotonic clock
//     from before each command was sent. A crashed holder's lock is free after the TTL. Lost replies, broken
//     connections, a silent server, SCRIPT FLUSH and cancelled callers cost time, not promises.
//   - fenced: watchdog with a token that grows with every ownership, so that what it protects can refuse the past.
//   - redlock: watchdog on a majority of independent servers, of which a minority may fail.
//   - get-lock: exclusion by the database's sessions; no expiry, one connection for each lease and waiter.
//
// # What no lock can promise
//
// A lease is a guess about time. A process that is stopped between its last Check and its write (by the scheduler, a
// garbage collector, a suspended machine) may write after its lease has passed to another, and no lock can stop it: the
// clock that would tell it stands still for it. Only what is written to can refuse: see Lease.Fence, SQLGuard and
// RedisGuard, and the fenced write of the examples.
//
// A single Redis that fails over to a replica without the key forgets the lock. Options.MinReplicas makes that
// unlikely, a fence makes it harmless. Quorum survives a lost minority, but trusts clocks that run at about the same
// speed, and servers that do not forget: see Options.RestartGrace. A fence grows as long as the clock of the server
// that mints it is not behind the last one.
//
// A monotonic clock may not count the time that a machine sleeps; after a resume a lease may look younger than it is.
//
// # Use
//
// New makes a Client for one Redis; its methods make lockers. Open makes any lock by its name. Both start nothing:
// goroutines start on first use, and Close waits for them. Redis 6.2 or later is needed, for fenced alone; all others
// are content with 5.
package lock

import (
	"context"
	"errors"
	"fmt"
)

// Locker hands out exclusive leases by key.
//
// A Locker is safe for concurrent use. Re-entry, where a lock has it, is a matter of the context: an Acquire whose
// ctx descends from Lease.Context() of a live lease of the same locker and key shares that lease.
type Locker interface {
	// Acquire waits at most Options.Wait (0: one attempt; negative: until ctx ends) or until ctx ends.
	// ctx bounds the wait and never the lease. Errors: ErrBusy when the wait was spent, or the answers came too late
	// for it; ErrInvalid for an empty key or options that make no sense; ErrClosed when the client is closed, also
	// meanwhile; otherwise the cause from Redis or the database, which is also told instead of ErrBusy when the last
	// attempts reached nobody, or a server that was not ready. When ctx ended, ctx.Err() is joined. It never fails open.
	Acquire(ctx context.Context, key string) (*Lease, error)
}

// Errors of Acquire and Release. They are compared with errors.Is.
var (
	// ErrBusy: somebody else held the lock for as long as the caller was willing to wait.
	ErrBusy = errors.New("lock: busy")
	// ErrLost: the lease is not (or no longer) ours; whatever it protected may have been touched by others.
	ErrLost = errors.New("lock: lost")
	// ErrInvalid: the key is empty, the TTL is below MinTTL, or another option makes no sense; refused before any
	// command is sent.
	ErrInvalid = errors.New("lock: invalid argument")
)

// Causes with which Lease.Context() ends; read them with context.Cause.
var (
	// ErrReleased: the lease was given back by its owner.
	ErrReleased = errors.New("lock: released")
	// ErrClosed: the Client was closed under the lease, or the wait for one.
	ErrClosed = errors.New("lock: client closed")
	// ErrExpired: the local deadline passed before a renewal was confirmed. It is an ErrLost.
	ErrExpired = fmt.Errorf("%w: expired unconfirmed", ErrLost)
	// ErrMaxHold: the lease reached Options.MaxHold. It is an ErrLost.
	ErrMaxHold = fmt.Errorf("%w: held for longer than MaxHold", ErrLost)
)
