package service

import "errors"

// The answers a business rule or a concurrency control can give. Each is one sentinel; router/errors.go maps
// them to HTTP statuses in one table.
var (
	ErrNotFound        = errors.New("not found")
	ErrForbidden       = errors.New("not the owner")
	ErrNotStarted      = errors.New("the sale has not started")
	ErrEnded           = errors.New("the sale has ended")
	ErrSoldOut         = errors.New("sold out")
	ErrAlreadyOrdered  = errors.New("one order per user")
	ErrOrderInProgress = errors.New("another order of this user is in progress")
	ErrInvalidState    = errors.New("the order's state does not allow this")
	ErrInvalid         = errors.New("invalid argument")
	// ErrBusy: the lock or a row could not be had in the time the stage waits.
	ErrBusy = errors.New("busy")
	// ErrGaveUp: an optimistic stage spent its retries.
	ErrGaveUp = errors.New("gave up after conflicting updates")
	// ErrLockLost: the lease ended before the order was committed; nothing was written.
	ErrLockLost = errors.New("the lock was lost before the order was written")
	// ErrStoreBusy: the database refused for want of a lock (1213, 1205, SQLITE_BUSY). The store retries it
	// where the stage allows that.
	ErrStoreBusy = errors.New("the database is busy")
)
