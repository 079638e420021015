// Package lock holds the locks of the ladder, from a process mutex to a fenced, renewed lease.
//
// Every lock is a Locker. The teaching locks keep only their own idea, faithful to its mistake; the deployable
// ones (watchdog, fenced, redlock) keep every promise written on Locker and Lease.
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
	// ctx bounds the wait and never the lease. Errors: ErrBusy when the wait was spent (joined with ctx.Err()
	// when ctx ended), ErrInvalid for an empty key or a TTL that is too short, otherwise the cause from Redis or
	// the database. It never fails open.
	Acquire(ctx context.Context, key string) (*Lease, error)
}

// Errors of Acquire and Release. They are compared with errors.Is.
var (
	// ErrBusy: somebody else held the lock for as long as the caller was willing to wait.
	ErrBusy = errors.New("lock: busy")
	// ErrLost: the lease is not (or no longer) ours; whatever it protected may have been touched by others.
	ErrLost = errors.New("lock: lost")
	// ErrInvalid: the key is empty or the TTL is below MinTTL; refused before any command is sent.
	ErrInvalid = errors.New("lock: invalid argument")
)

// Causes with which Lease.Context() ends; read them with context.Cause.
var (
	// ErrReleased: the lease was given back by its owner.
	ErrReleased = errors.New("lock: released")
	// ErrClosed: the Client was closed under the lease.
	ErrClosed = errors.New("lock: client closed")
	// ErrExpired: the local deadline passed before a renewal was confirmed. It is an ErrLost.
	ErrExpired = fmt.Errorf("%w: expired unconfirmed", ErrLost)
	// ErrMaxHold: the lease reached Options.MaxHold. It is an ErrLost.
	ErrMaxHold = fmt.Errorf("%w: held for longer than MaxHold", ErrLost)
)
