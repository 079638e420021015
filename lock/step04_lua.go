package lock

import "context"

// unlock compares and deletes in one step, because nothing runs between the commands of a script.
var unlock = load("unlock.lua")

// Lua is SET NX PX with a value of its own for every holder, and a script that deletes the key only if it is ours.
// The Java original calls it SimpleRedisLock.
//
// Its release is right. It still breaks with work that is slower than the TTL, and it does not let its own holder in
// again: a method that calls a method waits for itself.
func (c *Client) Lua() Locker {
	return c.simple("lua", &idea{ttl: c.o.TTL, take: c.setWithTTL, free: c.compareAndDelete})
}

func (c *Client) compareAndDelete(ctx context.Context, r *removal) (int64, error) {
	r.sending()
	return unlock.Run(ctx, c.rdb, []string{r.key}, r.own.token).Int64()
}
