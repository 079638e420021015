package repository

import (
	"context"
	"fmt"

	"seckill/service"
)

// ListDead implements service.DeadLetters.
func (g *Gate) ListDead(ctx context.Context, partition, count int, after string) ([]service.DeadLetter, error) {
	start := "-"
	if after != "" {
		start = "(" + after
	}
	msgs, err := g.rdb.XRangeN(ctx, g.keys.dead(partition), start, "+", int64(count)).Result()
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	letters := make([]service.DeadLetter, 0, len(msgs))
	for _, m := range msgs {
		l := service.DeadLetter{ID: m.ID, Partition: partition, Raw: make(map[string]string, len(m.Values))}
		for k, v := range m.Values {
			if s, ok := v.(string); ok {
				l.Raw[k] = s
			}
		}
		l.Reason = l.Raw["_reason"]
		delete(l.Raw, "_reason")
		if f, err := parseInFlight(l.Raw["order"], l.Raw["voucher"], l.Raw["user"], l.Raw["ms"]); err == nil {
			l.InFlight = f
		}
		letters = append(letters, l)
	}
	return letters, nil
}

// RemoveDead implements service.DeadLetters.
func (g *Gate) RemoveDead(ctx context.Context, partition int, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := g.rdb.XDel(ctx, g.keys.dead(partition), ids...).Err(); err != nil {
		return fmt.Errorf("remove dead letters: %w", err)
	}
	return nil
}
