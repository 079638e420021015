package repository

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"seckill/service"
)

const (
	loadChunk = 1000            // users per HSET while a gate is loaded
	loadTTL   = 2 * time.Minute // a load that was given up goes away by itself
)

// Preheat implements service.GateKeeper. Live orders are loaded into a key of this call's own first, because they
// may be too many for one script call; the script then makes the gate from it in one step.
func (g *Gate) Preheat(ctx context.Context, p service.Preheat) (bool, error) {
	v := p.Voucher
	load := g.keys.load(v, rand.Text())
	users := make(map[int64]service.ID, len(p.Live)) // broken stages write several orders for one user
	for _, u := range p.Live {
		users[u.User] = u.Order
	}
	exists, err := g.rdb.Exists(ctx, g.keys.gate(v)).Result()
	if err != nil {
		return false, fmt.Errorf("preheat voucher %s: %w", v, err)
	}
	n := 0
	if exists == 0 { // otherwise the window alone is refreshed, and the script finds no load
		if n, err = len(users), g.loadUsers(ctx, load, users); err != nil {
			return false, fmt.Errorf("preheat voucher %s: %w", v, err)
		}
	}
	part := g.keys.partition(v)
	made, err := preheatScript.Run(ctx, g.rdb,
		[]string{g.keys.gate(v), g.keys.users(v), g.keys.pending(part), load},
		v.String(), max(0, p.Capacity), p.BeginAt.UnixMilli(), p.EndAt.UnixMilli(), n, g.keys.returns()).Bool()
	if err != nil {
		return false, fmt.Errorf("preheat voucher %s: %w", v, err)
	}
	return made, nil
}

func (g *Gate) loadUsers(ctx context.Context, key string, users map[int64]service.ID) error {
	if len(users) == 0 {
		return nil
	}
	chunk := make([]any, 0, 2*loadChunk)
	flush := func() error {
		pipe := g.rdb.TxPipeline()
		pipe.HSet(ctx, key, chunk...)
		pipe.Expire(ctx, key, loadTTL)
		_, err := pipe.Exec(ctx)
		chunk = chunk[:0]
		return err
	}
	for user, order := range users {
		chunk = append(chunk, strconv.FormatInt(user, 10), order.String())
		if len(chunk) == cap(chunk) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(chunk) == 0 {
		return nil
	}
	return flush()
}

// Adopt implements service.GateKeeper.
func (g *Gate) Adopt(ctx context.Context, u service.Unit) (bool, error) {
	adopted, err := adoptScript.Run(ctx, g.rdb, []string{g.keys.gate(u.Voucher), g.keys.users(u.Voucher)},
		u.User, u.Order.String()).Bool()
	if err != nil {
		return false, fmt.Errorf("adopt order %s: %w", u.Order, err)
	}
	return adopted, nil
}

// SetStock implements service.GateKeeper.
func (g *Gate) SetStock(ctx context.Context, voucher service.ID, seen service.GateCounters, capacity int) (bool, error) {
	set, err := setStockScript.Run(ctx, g.rdb, []string{g.keys.gate(voucher), g.keys.users(voucher)},
		g.keys.returns(), voucher.String(), max(0, capacity),
		seen.Stock, seen.Admitted, seen.Returned, seen.InFlight).Bool()
	if err != nil {
		return false, fmt.Errorf("set the stock of voucher %s: %w", voucher, err)
	}
	return set, nil
}

// Forget implements service.GateKeeper.
func (g *Gate) Forget(ctx context.Context, voucher service.ID) error {
	p := g.keys.partition(voucher)
	keys := []string{g.keys.gate(voucher), g.keys.users(voucher), g.keys.pending(p), g.keys.stream(p)}
	if err := forgetScript.Run(ctx, g.rdb, keys, voucher.String()).Err(); err != nil {
		return fmt.Errorf("forget voucher %s: %w", voucher, err)
	}
	return nil
}
