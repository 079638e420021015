package repository

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/service"
)

// gateKeys names the keys of the admission state. All keys of one partition share the hash tag {gate:N}, so that
// every script finds its keys on one node of a Redis Cluster. Fixed partitions keep the number of streams fixed
// too: a worker has nothing to discover.
type gateKeys struct {
	prefix     string
	partitions int
}

func (k gateKeys) partition(voucher service.ID) int {
	return int(uint64(voucher) % uint64(k.partitions))
}

func (k gateKeys) in(partition int, rest string) string {
	return k.prefix + ":{gate:" + strconv.Itoa(partition) + "}:" + rest
}

func (k gateKeys) gate(voucher service.ID) string {
	return k.in(k.partition(voucher), "v:"+voucher.String())
}

func (k gateKeys) users(voucher service.ID) string      { return k.gate(voucher) + ":users" }
func (k gateKeys) pending(partition int) string         { return k.in(partition, "pending") }
func (k gateKeys) stream(partition int) string          { return k.in(partition, "stream") }
func (k gateKeys) dead(partition int) string            { return k.in(partition, "dead") }
func (k gateKeys) returns() string                      { return k.prefix + ":returns" }
func (k gateKeys) load(v service.ID, tok string) string { return k.gate(v) + ":load:" + tok }

// byPartition groups items by the partition of their voucher, with their positions.
func byPartition[T any](k gateKeys, items []T, voucher func(T) service.ID) map[int][]int {
	groups := make(map[int][]int, 1)
	for i, it := range items {
		p := k.partition(voucher(it))
		groups[p] = append(groups[p], i)
	}
	return groups
}

// parsePending reads a value of the pending hash, voucher:user:ms.
func parsePending(order, value string) (service.InFlight, error) {
	parts := strings.Split(value, ":")
	if len(parts) != 3 {
		return service.InFlight{}, fmt.Errorf("pending order %q: value %q is not voucher:user:ms", order, value)
	}
	return parseInFlight(order, parts[0], parts[1], parts[2])
}

func parseInFlight(order, voucher, user, ms string) (service.InFlight, error) {
	o, err := service.ParseID(order)
	if err != nil {
		return service.InFlight{}, fmt.Errorf("order: %w", err)
	}
	v, err := service.ParseID(voucher)
	if err != nil {
		return service.InFlight{}, fmt.Errorf("voucher: %w", err)
	}
	u, err := service.ParseID(user)
	if err != nil {
		return service.InFlight{}, fmt.Errorf("user: %w", err)
	}
	t, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return service.InFlight{}, fmt.Errorf("time %q is not in milliseconds", ms)
	}
	return service.InFlight{
		Unit: service.Unit{Order: o, Voucher: v, User: int64(u)},
		At:   time.UnixMilli(t).UTC(),
	}, nil
}
