package lock

import "time"

// Observer is told what happens to leases; nil functions are skipped. The functions are called on the goroutine
// that works, possibly several at once, and must return quickly.
type Observer struct {
	Acquired func(Event) // a fresh ownership; not a re-entry
	Waited   func(Event) // an Acquire ended, with or without a lease (Err)
	Renewed  func(Event) // a renewal was answered, or failed (Err)
	Lost     func(Event) // the lease ended without its owner's will; Err is the cause
	Released func(Event) // the last Release of an ownership ended
}

// Event is one moment in the life of a lease.
type Event struct {
	Lock  string    // kind of lock, as in Kinds
	Key   string    // the caller's key
	Lease uint64    // number of the ownership, unique in this process; 0 when there is none
	At    time.Time // when it happened, with a monotonic reading
	// Wait is how long Acquire took (Waited, Acquired).
	Wait time.Duration
	// Held is the time from the confirmed acquire to the call of Release (Released).
	Held time.Duration
	// Fence is the fencing token, 0 where the lock has none.
	Fence int64
	// CalledAt is when Release was called, RemoveAt the moment before the command that may have removed the key
	// was sent, Removed whether it did remove one (Released).
	CalledAt, RemoveAt time.Time
	Removed            bool
	Err                error
}
