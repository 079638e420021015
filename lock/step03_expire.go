package lock

import "context"

// Expire is SET NX PX, which creates the key and its expiry in one command, and DEL.
//
// It breaks with slow work: A outlives the key, B takes the lock, A deletes B's key, C comes in. From then on it
// protects nothing.
func (c *Client) Expire() Locker {
	return c.simple("expire", &idea{ttl: c.o.TTL, take: c.setWithTTL, free: c.del})
}

func (c *Client) setWithTTL(ctx context.Context, key, token string) (bool, error) {
	return c.rdb.SetNX(ctx, key, token, c.o.TTL).Result()
}
