package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// SetNXExpire is SETNX and then PEXPIRE, so that a crashed holder's key lapses. Released by GET, compare, DEL.
//
// It breaks with a crash between its two commands, or with a wait that ends there: the key is there, its expiry is not.
func (c *Client) SetNXExpire() Locker {
	return c.simple("setnx-expire", &idea{ttl: c.o.TTL, take: c.setThenExpire, free: c.getCompareDel})
}

func (c *Client) setThenExpire(ctx context.Context, key, token string) (bool, error) {
	ok, err := c.rdb.SetNX(ctx, key, token, 0).Result()
	if !ok || err != nil {
		return false, err
	}
	c.o.Holds.Reach(HoldAcquireBetween)
	return c.rdb.PExpire(ctx, key, c.o.TTL).Result()
}

// SetNXRepair is SetNXExpire whose losers repair: who finds the key without an expiry sets one, and still does not
// hold the lock.
//
// It heals the crash between the two commands. It breaks anew: the repairer cannot tell a crashed holder from one that
// is just between its two commands, whose clock it starts early; and slow work outlives the key as before.
func (c *Client) SetNXRepair() Locker {
	return c.simple("setnx-repair", &idea{ttl: c.o.TTL, take: c.setOrRepair, free: c.getCompareDel})
}

func (c *Client) setOrRepair(ctx context.Context, key, token string) (bool, error) {
	ok, err := c.setThenExpire(ctx, key, token)
	if ok || err != nil {
		return ok, err
	}
	if left, err := c.rdb.PTTL(ctx, key).Result(); err != nil || left != noTTL {
		return false, err
	}
	return false, c.rdb.PExpire(ctx, key, c.o.TTL).Err()
}

// noTTL is how go-redis hands on PTTL's answer -1.
const noTTL = -1

// getCompareDel looks whose key it is and then removes it.
//
// It breaks between the two: the key may lapse after the look, and then it is the next holder's that is removed.
func (c *Client) getCompareDel(ctx context.Context, r *removal) (int64, error) {
	switch held, err := c.rdb.Get(ctx, r.key).Result(); {
	case err == redis.Nil:
		return 0, nil
	case err != nil:
		return 0, err
	case held != r.own.token:
		return 0, nil
	}
	c.o.Holds.Reach(HoldReleaseBetween)
	return c.del(ctx, r)
}
