package lock

// Watchdog is a lock that one deploys: a key with a token and a time to live, which one goroutine per Client renews at
// a third of it, as Redisson's lock() without a lease does. Entries of its own holder are counted here, not in Redis,
// so that a repeated command counts nothing twice.
//
// Slow work is safe, a crashed holder's key lapses, and the holder learns of a loss before anybody else can own the
// lock. It still breaks with a process that is stopped between its last Check and its write: it cannot know. Fenced
// closes that gap.
func (c *Client) Watchdog() Locker {
	return c.deployable("watchdog", false)
}

// deployable is the machinery of watchdog and fenced, see leased.
func (c *Client) deployable(kind string, fenced bool) *locker {
	alg := newLeased(c.o, c.bg, c.node)
	alg.fenced, alg.quick = fenced, c.node.within(alg.patience())
	l := c.simple(kind, alg)
	l.reentry, l.guarded, l.renewer, l.signals = reentryLocal, true, c.renewer, c.signals
	return l
}
