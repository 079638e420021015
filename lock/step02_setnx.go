package lock

import "context"

// SetNX is SETNX and DEL: exclusive between processes, as only one of them can create the key.
//
// It breaks with a crash: the key has no expiry, so a holder that dies leaves the lock taken for ever. And DEL asks
// nobody whose key it is.
func (c *Client) SetNX() Locker {
	return c.simple("setnx", &idea{
		take: func(ctx context.Context, key, _ string) (bool, error) {
			return c.rdb.SetNX(ctx, key, "locked", 0).Result()
		},
		free: c.del,
	})
}

// del removes the key, whoever's it is.
func (c *Client) del(ctx context.Context, r *removal) (int64, error) {
	r.sending()
	return c.rdb.Del(ctx, r.key).Result()
}
