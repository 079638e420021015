package lock

// Fenced is Watchdog with a fencing token: a number that grows with every fresh ownership of the key (Lease.Fence).
// What the lock protects keeps the highest number that it has seen and refuses all others; see SQLGuard and RedisGuard.
//
// A holder that was paused and outlived its lease is refused at its late write, which no lock alone can do.
func (c *Client) Fenced() Locker {
	return c.deployable("fenced", true)
}
