package lock

import "context"

// Hash is the first version of a job lock: look whether the hash is there; if not, HSET and EXPIRE; DEL at the end.
//
// It breaks under two callers: both look before either writes, HSET overwrites without a complaint, and both go on.
// It breaks with a crash between HSET and PEXPIRE, or a wait that ends there, which leaves it taken for ever. Several
// commands are not a lock.
func (c *Client) Hash() Locker {
	return c.simple("hash", &idea{ttl: c.o.TTL, take: c.lookThenSet, free: c.del})
}

func (c *Client) lookThenSet(ctx context.Context, key, token string) (bool, error) {
	taken, err := c.rdb.Exists(ctx, key).Result()
	if taken != 0 || err != nil {
		return false, err
	}
	c.o.Holds.Reach(HoldAcquireCheck)
	if err := c.rdb.HSet(ctx, key, "owner", token).Err(); err != nil {
		return false, err
	}
	c.o.Holds.Reach(HoldAcquireBetween)
	return c.rdb.PExpire(ctx, key, c.o.TTL).Result()
}
