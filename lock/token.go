package lock

// Token is SET NX PX with a value of its own for every holder, and GET, compare, DEL.
//
// It breaks in the gap between GET and DEL: when the key lapses there, the next holder's is deleted.
func (c *Client) Token() Locker {
	return c.simple("token", &idea{ttl: c.o.TTL, take: c.setWithTTL, free: c.getCompareDel})
}
