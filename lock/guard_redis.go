package lock

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	guardClaim = load("guard_claim.lua")
	guardWrite = load("guard_write.lua")
)

// RedisGuard refuses late writes to data in Redis, by a key that remembers the highest fencing token that claimed it.
// As with SQLGuard the holder claims before it reads. In a cluster the guard's key and the data share a hash tag.
type RedisGuard struct {
	rdb redis.Scripter
	key string
}

// NewRedisGuard guards whatever the users of key agree to write with it. key has no expiry.
func NewRedisGuard(rdb redis.Scripter, key string) RedisGuard { return RedisGuard{rdb, key} }

// Claim makes the data belong to fence (Lease.Fence). Claiming again with the same fence succeeds. ErrLost: a later
// holder has claimed it. ErrInvalid: the lock has no fence.
func (g RedisGuard) Claim(ctx context.Context, fence int64) error {
	if fence <= 0 {
		return fmt.Errorf("%w: fence %d guards nothing", ErrInvalid, fence)
	}
	ok, err := guardClaim.Run(ctx, g.rdb, []string{g.key}, fence).Int64()
	if err == nil && ok == 0 {
		return fmt.Errorf("%w: a later fence has claimed %s after %d", ErrLost, g.key, fence)
	}
	return err
}

// FencedScript puts the guard's check before a script of the caller's: it runs only while the fence that it is run
// with owns the data. Inside it KEYS and ARGV are the caller's own.
func FencedScript(body string) *redis.Script {
	return redis.NewScript(guardWrite.source + body)
}

// Run runs a FencedScript with a fence that Claim has accepted. ErrLost: a later holder has claimed the data, or nobody
// has; nothing was written.
func (g RedisGuard) Run(ctx context.Context, s *redis.Script, fence int64, keys []string, args ...any) (any, error) {
	if fence <= 0 {
		return nil, fmt.Errorf("%w: fence %d guards nothing", ErrInvalid, fence)
	}
	v, err := s.Run(ctx, g.rdb, append([]string{g.key}, keys...), append([]any{fence}, args...)...).Result()
	if err != nil && strings.HasPrefix(err.Error(), "FENCED") {
		return nil, fmt.Errorf("%w: fence %d does not own %s", ErrLost, fence, g.key)
	}
	return v, err
}
