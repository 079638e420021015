package lock

import "time"

// MinTTL is the shortest lease that is accepted; below it no renewal could ever arrive in time.
const MinTTL = 10 * time.Millisecond

// Options configures the lockers of one Client. The zero value is usable.
type Options struct {
	// Prefix is put before every key in Redis. Default "lock:".
	Prefix string
	// TTL is how long a lease lives without a renewal. Default 30 s, at least MinTTL.
	TTL time.Duration
	// Wait bounds how long Acquire waits. 0 (default): one attempt; negative: until ctx ends.
	Wait time.Duration
	// MaxHold ends a renewed lease with ErrMaxHold after this long. Default 0: no limit.
	MaxHold time.Duration
	// Observer is told what happens to leases. Default: nobody is told.
	Observer Observer
	// Holds are the hold points of a lab run or a test. Default nil: off, at no cost.
	Holds *Holds
}
