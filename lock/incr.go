package lock

import "context"

// Incr is the second version of the job lock: who finds no counter sets it to 0 with an expiry; then INCR, and who is
// within the range (LockRange, 1) may go on; DEL at the end.
//
// It breaks under two callers: B's SET 0 lands after A's INCR and both get 1. A refused INCR never comes down again.
// DEL asks nobody whose turn it is. A counter that others reset is not a lock.
func (c *Client) Incr() Locker {
	return c.simple("incr", &idea{ttl: c.o.TTL, take: c.resetThenCount, free: c.del})
}

func (c *Client) resetThenCount(ctx context.Context, key, _ string) (bool, error) {
	there, err := c.rdb.Exists(ctx, key).Result()
	if err != nil {
		return false, err
	}
	if there == 0 {
		c.o.Holds.Reach(HoldAcquireCheck)
		if err := c.rdb.Set(ctx, key, 0, c.o.TTL).Err(); err != nil {
			return false, err
		}
		c.o.Holds.Reach(HoldAcquireBetween)
	}
	n, err := c.rdb.Incr(ctx, key).Result()
	return n <= c.o.LockRange && err == nil, err
}
