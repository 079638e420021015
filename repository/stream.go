package repository

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

// streamGroup is the consumer group of the workers.
const streamGroup = "writers"

// claimScans bounds how many steps of XAUTOCLAIM one Claim makes through a long list without idle entries.
const claimScans = 16

// Stream is one worker's access to the order streams: one consumer of the group, with a name that no other has.
// It implements service.Queue and starts no goroutine.
type Stream struct {
	gate     *Gate
	consumer string
}

var _ service.Queue = (*Stream)(nil)

// NewStream makes a consumer named host-pid-random. The random part keeps two workers of one process, and a
// process and its successor in a container with the same pid, apart.
func NewStream(gate *Gate) *Stream {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Stream{gate: gate, consumer: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:10])}
}

// Consumer is the consumer's name in the group.
func (s *Stream) Consumer() string { return s.consumer }

// Partitions implements service.Queue.
func (s *Stream) Partitions() int { return s.gate.keys.partitions }

// Read implements service.Queue. An unsent or lost reply leaves its messages pending for this consumer; Own and
// other consumers' Claim find them.
func (s *Stream) Read(ctx context.Context, partition, count int, block time.Duration) ([]service.Entry, error) {
	if block <= 0 {
		block = -1 // go-redis: no BLOCK at all; BLOCK 0 would wait for ever
	}
	var streams []redis.XStream
	err := s.healed(ctx, partition, func() (err error) {
		streams, err = s.gate.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: streamGroup, Consumer: s.consumer, Count: int64(count), Block: block,
			Streams: []string{s.gate.keys.stream(partition), ">"},
		}).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the order stream: %w", err)
	}
	entries, _ := parseStreams(partition, streams)
	for i := range entries {
		entries[i].Deliveries = 1
	}
	return entries, nil
}

// Own implements service.Queue. Its id is never ">", so the server answers at once; BLOCK is not sent, because
// with an explicit id it would be ignored and a loop that relied on it would spin.
func (s *Stream) Own(ctx context.Context, partition, count int, after string) ([]service.Entry, error) {
	var streams []redis.XStream
	err := s.healed(ctx, partition, func() (err error) {
		streams, err = s.gate.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: streamGroup, Consumer: s.consumer, Count: int64(count), Block: -1,
			Streams: []string{s.gate.keys.stream(partition), after},
		}).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read own pending orders: %w", err)
	}
	entries, gone := parseStreams(partition, streams)
	if err := s.ackGone(ctx, partition, gone); err != nil {
		return nil, err
	}
	return s.withDeliveries(ctx, partition, entries)
}

// Claim implements service.Queue.
func (s *Stream) Claim(ctx context.Context, partition, count int, idle time.Duration) ([]service.Entry, error) {
	start := "0-0"
	for range claimScans {
		var msgs []redis.XMessage
		next := ""
		err := s.healed(ctx, partition, func() (err error) {
			msgs, next, err = s.gate.rdb.XAutoClaim(ctx, &redis.XAutoClaimArgs{
				Stream: s.gate.keys.stream(partition), Group: streamGroup, Consumer: s.consumer,
				MinIdle: idle, Start: start, Count: int64(count),
			}).Result()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("claim idle orders: %w", err)
		}
		entries, gone := parseMessages(partition, msgs)
		if err := s.ackGone(ctx, partition, gone); err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return s.withDeliveries(ctx, partition, entries)
		}
		if start = next; start == "0-0" || start == "" {
			break
		}
	}
	return nil, nil
}

// healed runs a group command, and once more after making the group when it was missing: on a fresh start, and
// when the stream was deleted under a blocked reader. The group starts at 0, so that orders from before it count.
func (s *Stream) healed(ctx context.Context, partition int, command func() error) error {
	err := command()
	if isNoGroup(err) {
		if err := s.makeGroup(ctx, partition); err != nil {
			return err
		}
		err = command()
	}
	if errors.Is(err, redis.Nil) {
		return nil // nothing there
	}
	return err
}

func isNoGroup(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "NOGROUP") || redis.HasErrorPrefix(err, "UNBLOCKED"))
}

func (s *Stream) makeGroup(ctx context.Context, partition int) error {
	err := s.gate.rdb.XGroupCreateMkStream(ctx, s.gate.keys.stream(partition), streamGroup, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") { // another worker was faster
		return fmt.Errorf("make the consumer group: %w", err)
	}
	return nil
}

// parseStreams reads a reply about one stream. A server may answer with no stream, or with one without messages.
func parseStreams(partition int, streams []redis.XStream) (entries []service.Entry, gone []string) {
	for _, st := range streams {
		e, g := parseMessages(partition, st.Messages)
		entries, gone = append(entries, e...), append(gone, g...)
	}
	return entries, gone
}

// parseMessages reads messages; gone are those that are pending but were deleted from the stream.
func parseMessages(partition int, msgs []redis.XMessage) (entries []service.Entry, gone []string) {
	for _, m := range msgs {
		if len(m.Values) == 0 {
			gone = append(gone, m.ID)
			continue
		}
		e := service.Entry{ID: m.ID, Partition: partition}
		field := func(name string) string { v, _ := m.Values[name].(string); return v }
		f, err := parseInFlight(field("order"), field("voucher"), field("user"), field("ms"))
		if err != nil {
			e.Malformed = strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			e.InFlight = f
		}
		entries = append(entries, e)
	}
	return entries, gone
}

func (s *Stream) ackGone(ctx context.Context, partition int, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := s.gate.rdb.XAck(ctx, s.gate.keys.stream(partition), streamGroup, ids...).Err(); err != nil {
		return fmt.Errorf("acknowledge deleted messages: %w", err)
	}
	return nil
}
