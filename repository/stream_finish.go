package repository

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

const pendingPage = 1000 // entries per XPENDING

// withDeliveries fills in how often each entry was delivered; XREADGROUP and XAUTOCLAIM do not tell.
func (s *Stream) withDeliveries(ctx context.Context, partition int, entries []service.Entry) ([]service.Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	counts := make(map[string]int64, len(entries))
	start, last := entries[0].ID, entries[len(entries)-1].ID
	for {
		page, err := s.gate.rdb.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: s.gate.keys.stream(partition), Group: streamGroup, Consumer: s.consumer,
			Start: start, End: last, Count: pendingPage,
		}).Result()
		if err != nil {
			return nil, fmt.Errorf("delivery counts: %w", err)
		}
		for _, p := range page {
			counts[p.ID] = p.RetryCount
		}
		if len(page) < pendingPage {
			break
		}
		start = "(" + page[len(page)-1].ID
	}
	for i := range entries {
		entries[i].Deliveries = max(1, counts[entries[i].ID])
	}
	return entries, nil
}

// Finish implements service.Queue. One script settles the orders and removes their messages.
func (s *Stream) Finish(ctx context.Context, partition int, entries []service.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	orders := make([]settled, len(entries))
	for i, e := range entries {
		orders[i] = settledOrder(e.Unit, e.ID)
	}
	return s.gate.settle(ctx, partition, orders)
}

// Drop implements service.Queue.
func (s *Stream) Drop(ctx context.Context, partition int, entries []service.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	pipe := s.gate.rdb.TxPipeline()
	pipe.XAck(ctx, s.gate.keys.stream(partition), streamGroup, ids...)
	pipe.XDel(ctx, s.gate.keys.stream(partition), ids...)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("drop %d messages: %w", len(ids), err)
	}
	return nil
}

// Bury implements service.Queue.
func (s *Stream) Bury(ctx context.Context, e service.Entry, reason string) error {
	if reason == "" {
		reason = "unknown"
	}
	keys := []string{s.gate.keys.stream(e.Partition), s.gate.keys.dead(e.Partition)}
	if err := buryScript.Run(ctx, s.gate.rdb, keys, streamGroup, e.ID, reason).Err(); err != nil {
		return fmt.Errorf("bury message %s: %w", e.ID, err)
	}
	return nil
}

// Depth implements service.Queue. Finished messages are deleted, so a stream's length is what is unfinished and
// its first id tells the age.
func (s *Stream) Depth(ctx context.Context) (service.QueueDepth, error) {
	var d service.QueueDepth
	n := s.Partitions()
	now := make([]*redis.TimeCmd, n)
	length, dead := make([]*redis.IntCmd, n), make([]*redis.IntCmd, n)
	first := make([]*redis.XMessageSliceCmd, n)
	_, err := s.gate.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range n {
			stream := s.gate.keys.stream(p)
			now[p] = pipe.Time(ctx)
			length[p], dead[p] = pipe.XLen(ctx, stream), pipe.XLen(ctx, s.gate.keys.dead(p))
			first[p] = pipe.XRangeN(ctx, stream, "-", "+", 1)
		}
		return nil
	})
	if err != nil {
		return d, fmt.Errorf("depth of the order stream: %w", err)
	}
	for p := range n {
		d.Messages += length[p].Val()
		d.Dead += dead[p].Val()
		for _, m := range first[p].Val() {
			ms, err := strconv.ParseInt(m.ID[:strings.IndexByte(m.ID, '-')], 10, 64)
			if err != nil {
				return d, fmt.Errorf("depth of the order stream: %w", err)
			}
			at := time.UnixMilli(ms).UTC()
			d.Oldest = max(d.Oldest, now[p].Val().Sub(at))
			if d.OldestAt.IsZero() || at.Before(d.OldestAt) {
				d.OldestAt = at
			}
		}
	}
	return d, nil
}

// Leave implements service.Queue.
func (s *Stream) Leave(ctx context.Context, idle time.Duration) error {
	var errs []error
	for p := range s.Partitions() {
		stream := s.gate.keys.stream(p)
		names := []string{s.consumer}
		consumers, err := s.gate.rdb.XInfoConsumers(ctx, stream, streamGroup).Result()
		if err != nil {
			if !isNoSuchGroup(err) {
				errs = append(errs, err)
			}
			continue
		}
		for _, c := range consumers {
			if c.Name != s.consumer && c.Pending == 0 && c.Idle >= idle {
				names = append(names, c.Name)
			}
		}
		for _, name := range names {
			if err := leaveScript.Run(ctx, s.gate.rdb, []string{stream}, streamGroup, name).Err(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("leave the consumer group: %w", err)
	}
	return nil
}

// isNoSuchGroup: there is no group, or not even a stream, so there is nothing to leave.
func isNoSuchGroup(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || redis.HasErrorPrefix(err, "ERR no such key") || redis.HasErrorPrefix(err, "no such key")
}
