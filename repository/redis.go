package repository

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

// sellKey is the key that the simplest form of the lesson sells from; it is meant to be watched with redis-cli.
const sellKey = "stock"

// Redis is what the program keeps in Redis besides its locks. It is safe for concurrent use.
type Redis struct {
	db redis.UniversalClient
}

var _ service.SellStock = (*Redis)(nil)

// NewRedis uses the client, which stays the caller's to close.
func NewRedis(db redis.UniversalClient) *Redis { return &Redis{db: db} }

// SellStock: GET stock
func (r *Redis) SellStock(ctx context.Context) (int, error) {
	n, err := r.db.Get(ctx, sellKey).Int()
	if errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("%w: the key %q is not set", service.ErrNotFound, sellKey)
	}
	return n, err
}

// SetSellStock: SET stock n
func (r *Redis) SetSellStock(ctx context.Context, n int) error {
	return r.db.Set(ctx, sellKey, n, 0).Err()
}

// ClearVoucher removes every key under prefix (that of the locks, say "lock:") that belongs to the voucher, held or
// not, and returns how many those were. A key belongs to it when it contains "voucher:<id>" and no further digit.
// For lab runs only: whoever holds one of these locks loses it.
//
//	SCAN … MATCH <prefix>*voucher:<id>* on every primary; UNLINK
func (r *Redis) ClearVoucher(ctx context.Context, prefix string, voucher service.ID) (int, error) {
	var n atomic.Int64
	mark := "voucher:" + voucher.String()
	err := r.eachPrimary(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		it := c.Scan(ctx, 0, escapeGlob(prefix)+"*"+mark+"*", 1000).Iterator()
		for it.Next(ctx) {
			if !belongs(it.Val(), mark) {
				continue
			}
			removed, err := c.Unlink(ctx, it.Val()).Result()
			if err != nil {
				return err
			}
			n.Add(removed)
		}
		return it.Err()
	})
	return int(n.Load()), err
}

// eachPrimary calls fn for each server that holds keys; a cluster has several.
func (r *Redis) eachPrimary(ctx context.Context, fn func(context.Context, redis.UniversalClient) error) error {
	if cluster, ok := r.db.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return fn(ctx, c) })
	}
	return fn(ctx, r.db)
}

// belongs tells "voucher:1" and "voucher:12" apart.
func belongs(key, mark string) bool {
	for {
		i := strings.Index(key, mark)
		if i < 0 {
			return false
		}
		key = key[i+len(mark):]
		if key == "" || key[0] < '0' || key[0] > '9' {
			return true
		}
	}
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// Engine asks the server what it is: redis or valkey with its version, or miniredis, which does not say.
//
//	INFO server
func (r *Redis) Engine(ctx context.Context) (EngineInfo, error) {
	text, err := r.db.Info(ctx, "server").Result()
	var refused redis.Error
	if errors.As(err, &refused) {
		return EngineInfo{Kind: "miniredis"}, nil // it answers, but has no such section
	}
	if err != nil {
		return EngineInfo{}, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	if v := fields["valkey_version"]; v != "" {
		return EngineInfo{Kind: "valkey", Version: v}, nil
	}
	return EngineInfo{Kind: "redis", Version: fields["redis_version"]}, nil
}
