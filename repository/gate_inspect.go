package repository

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

const scanCount = 1000 // entries per HSCAN

// Counters implements service.GateKeeper. All of it is read in one MULTI, so the counters fit together.
func (g *Gate) Counters(ctx context.Context, voucher service.ID) (service.GateCounters, error) {
	var c service.GateCounters
	pipe := g.rdb.TxPipeline()
	gate := pipe.HMGet(ctx, g.keys.gate(voucher), "stock", "admitted", "returned", "inflight", "begin_ms", "end_ms")
	holders := pipe.HLen(ctx, g.keys.users(voucher))
	if _, err := pipe.Exec(ctx); err != nil {
		return c, fmt.Errorf("counters of voucher %s: %w", voucher, err)
	}
	var n [6]int64
	for i, v := range gate.Val() {
		s, ok := v.(string)
		if !ok {
			return c, nil // not preheated
		}
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return c, fmt.Errorf("counters of voucher %s: %w", voucher, err)
		}
		n[i] = x
	}
	return service.GateCounters{
		Preheated: true,
		Stock:     int(n[0]), Admitted: int(n[1]), Returned: int(n[2]), InFlight: int(n[3]),
		Holders: int(holders.Val()),
		BeginAt: time.UnixMilli(n[4]).UTC(), EndAt: time.UnixMilli(n[5]).UTC(),
	}, nil
}

// FindInFlight implements service.GateKeeper. The id does not tell the voucher, so all partitions are asked at once.
func (g *Gate) FindInFlight(ctx context.Context, order service.ID) (service.InFlight, bool, error) {
	cmds := make([]*redis.StringCmd, g.keys.partitions)
	_, err := g.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range cmds {
			cmds[p] = pipe.HGet(ctx, g.keys.pending(p), order.String())
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return service.InFlight{}, false, fmt.Errorf("look for order %s: %w", order, err)
	}
	for _, cmd := range cmds {
		value, err := cmd.Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return service.InFlight{}, false, fmt.Errorf("look for order %s: %w", order, err)
		}
		f, err := parsePending(order.String(), value)
		return f, err == nil, err
	}
	return service.InFlight{}, false, nil
}

// InFlightBefore implements service.GateKeeper.
func (g *Gate) InFlightBefore(ctx context.Context, age time.Duration, limit int) ([]service.InFlight, error) {
	now, err := g.rdb.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("orders in flight: %w", err)
	}
	cutoff := now.Add(-age)
	return g.inFlight(ctx, allPartitions(g.keys.partitions), limit, func(f service.InFlight) bool {
		return f.At.Before(cutoff)
	})
}

// InFlightOf implements service.GateKeeper.
func (g *Gate) InFlightOf(ctx context.Context, voucher service.ID) ([]service.InFlight, error) {
	return g.inFlight(ctx, []int{g.keys.partition(voucher)}, 0, func(f service.InFlight) bool {
		return f.Voucher == voucher
	})
}

func allPartitions(n int) []int {
	out := make([]int, n)
	for p := range out {
		out[p] = p
	}
	return out
}

// inFlight scans partitions' pending hashes for at most limit (0: any number of) matching orders.
func (g *Gate) inFlight(ctx context.Context, partitions []int, limit int, match func(service.InFlight) bool) ([]service.InFlight, error) {
	var out []service.InFlight
	seen := make(map[service.ID]bool) // HSCAN may show an entry twice
	for _, p := range partitions {
		err := g.scan(ctx, g.keys.pending(p), func(order, value string) (bool, error) {
			f, err := parsePending(order, value)
			if err != nil {
				return false, err
			}
			if match(f) && !seen[f.Order] {
				seen[f.Order] = true
				out = append(out, f)
			}
			return limit == 0 || len(out) < limit, nil
		})
		if err != nil {
			return nil, fmt.Errorf("orders in flight: %w", err)
		}
		if limit > 0 && len(out) >= limit {
			break
		}
	}
	return out, nil
}

// Holders implements service.GateKeeper.
func (g *Gate) Holders(ctx context.Context, voucher service.ID) (map[int64]service.ID, error) {
	out := make(map[int64]service.ID)
	err := g.scan(ctx, g.keys.users(voucher), func(user, order string) (bool, error) {
		u, err := service.ParseID(user)
		if err != nil {
			return false, err
		}
		o, err := service.ParseID(order)
		if err != nil {
			return false, err
		}
		out[int64(u)] = o
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("holders of voucher %s: %w", voucher, err)
	}
	return out, nil
}

// scan calls visit for every field of a hash until visit returns false.
func (g *Gate) scan(ctx context.Context, key string, visit func(field, value string) (bool, error)) error {
	var cursor uint64
	for {
		kv, next, err := g.rdb.HScan(ctx, key, cursor, "*", scanCount).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(kv); i += 2 {
			more, err := visit(kv[i], kv[i+1])
			if err != nil || !more {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
