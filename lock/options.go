package lock

import (
	"fmt"
	"time"
)

// MinTTL is the shortest lease that is accepted; below it no renewal could ever arrive in time.
const MinTTL = 10 * time.Millisecond

// Options configures the lockers of one Client. The zero value is usable.
type Options struct {
	// Prefix is put before every key in Redis. Default "lock:".
	Prefix string
	// TTL is how long a lease lives without a renewal. Default 30 s, at least MinTTL.
	TTL time.Duration
	// Wait bounds how long Acquire waits. 0 (default): one attempt; negative: until ctx ends. The wait goes on while the
	// server is silent, or there but not ready (it starts, fails over, or runs a slow script), and while a quorum is
	// away. It ends at once with the error where one server's address refuses connections.
	Wait time.Duration
	// MaxHold ends a renewed lease with ErrMaxHold after this long. Default 0: no limit; else at least MinTTL.
	MaxHold time.Duration
	// NodeTimeout bounds how long a quorum lock waits for one node's answer. An attempt that gets too few answers in
	// time takes as long again to tell slow nodes from unreachable ones. Default 50 ms.
	NodeTimeout time.Duration
	// RestartGrace is how long a quorum node must have been up before it votes; at least the TTL where nodes may
	// restart without their keys. Default 0: every node votes.
	RestartGrace time.Duration
	// MinReplicas is the strict replica mode of watchdog and fenced: an acquire or a renewal counts only when so many
	// replicas acknowledged it (WAIT). Default 0: none is asked.
	MinReplicas int
	// ReplicaTimeout bounds the wait for them. Default 100 ms.
	ReplicaTimeout time.Duration
	// LockRange is how many callers the incr lock lets in. Default 1.
	LockRange int64
	// Observer is told what happens to leases. Default: nobody is told.
	Observer Observer
	// Holds are the hold points of a lab run or a test. Default nil: off, at no cost.
	Holds *Holds
}

// withDefaults fills in the documented defaults.
func (o Options) withDefaults() Options {
	set(&o.Prefix, "lock:")
	set(&o.TTL, 30*time.Second)
	set(&o.NodeTimeout, 50*time.Millisecond)
	set(&o.ReplicaTimeout, 100*time.Millisecond)
	set(&o.LockRange, 1)
	if o.TTL >= time.Millisecond { // Redis counts whole ones
		o.TTL = o.TTL.Truncate(time.Millisecond)
	}
	return o
}

func set[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// check refuses what no command may be sent with.
func (o Options) check(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: empty key", ErrInvalid)
	case o.TTL < MinTTL:
		return fmt.Errorf("%w: TTL %v is below %v", ErrInvalid, o.TTL, MinTTL)
	case o.MaxHold != 0 && o.MaxHold < MinTTL:
		return fmt.Errorf("%w: MaxHold %v is below %v", ErrInvalid, o.MaxHold, MinTTL)
	case o.NodeTimeout < 0, o.RestartGrace < 0, o.ReplicaTimeout < 0, o.MinReplicas < 0, o.LockRange < 0:
		return fmt.Errorf("%w: a negative option", ErrInvalid)
	}
	return nil
}
