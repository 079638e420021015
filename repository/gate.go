package repository

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

// GateOptions says where the admission state lives in Redis.
type GateOptions struct {
	// Prefix starts every key. Default "seckill".
	Prefix string
	// Partitions spreads vouchers over hash slots of a Redis Cluster; each has a stream of its own. All
	// processes must agree on it, and it must not change while orders are in flight. Default 1.
	Partitions int
}

func (o GateOptions) keys() gateKeys {
	k := gateKeys{prefix: o.Prefix, partitions: o.Partitions}
	if k.prefix == "" {
		k.prefix = "seckill"
	}
	if k.partitions < 1 {
		k.partitions = 1
	}
	return k
}

// Gate is the admission state in Redis: it decides who gets a unit before the database is asked. It implements
// service.Admitter, service.GateKeeper and service.DeadLetters; it starts no goroutine and is safe for concurrent use.
type Gate struct {
	rdb  redis.UniversalClient
	keys gateKeys
}

var (
	_ service.Admitter    = (*Gate)(nil)
	_ service.GateKeeper  = (*Gate)(nil)
	_ service.DeadLetters = (*Gate)(nil)
)

// NewGate uses rdb, which stays the caller's to close.
func NewGate(rdb redis.UniversalClient, o GateOptions) *Gate {
	return &Gate{rdb: rdb, keys: o.keys()}
}

// Admit implements service.Admitter. It runs admit.lua once for all asks.
func (g *Gate) Admit(ctx context.Context, voucher service.ID, enqueue bool, asks []service.Ask) ([]service.Admission, error) {
	if len(asks) == 0 {
		return nil, nil
	}
	if len(asks) > service.MaxAdmit {
		return nil, fmt.Errorf("%w: %d asks in one call, at most %d", service.ErrInvalid, len(asks), service.MaxAdmit)
	}
	p := g.keys.partition(voucher)
	args := make([]any, 0, 2+2*len(asks))
	args = append(args, voucher.String(), flag(enqueue))
	for _, a := range asks {
		args = append(args, strconv.FormatInt(a.User, 10), a.Order.String())
	}
	keys := []string{g.keys.gate(voucher), g.keys.users(voucher), g.keys.pending(p), g.keys.stream(p)}
	replies, err := admitScript.Run(ctx, g.rdb, keys, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("admit to voucher %s: %w", voucher, err)
	}
	if len(replies) != len(asks) {
		return nil, fmt.Errorf("admit to voucher %s: %d answers to %d asks", voucher, len(replies), len(asks))
	}
	out := make([]service.Admission, len(asks))
	for i, r := range replies {
		if out[i], err = parseAdmission(r); err != nil {
			return nil, fmt.Errorf("admit to voucher %s: %w", voucher, err)
		}
	}
	return out, nil
}

var admissions = map[string]error{
	"admitted":      nil,
	"sold_out":      service.ErrSoldOut,
	"not_started":   service.ErrNotStarted,
	"ended":         service.ErrEnded,
	"not_preheated": service.ErrNotPreheated,
}

func parseAdmission(reply string) (service.Admission, error) {
	if err, ok := admissions[reply]; ok {
		return service.Admission{Err: err}, nil
	}
	if order, ok := strings.CutPrefix(reply, "already:"); ok {
		id, err := service.ParseID(order)
		return service.Admission{Err: service.ErrAlreadyOrdered, Existing: id}, err
	}
	return service.Admission{}, fmt.Errorf("unknown answer %q", reply)
}

// Done implements service.Admitter.
func (g *Gate) Done(ctx context.Context, units []service.Unit) error {
	groups := byPartition(g.keys, units, func(u service.Unit) service.ID { return u.Voucher })
	for p, at := range groups {
		settled := make([]settled, len(at))
		for j, i := range at {
			settled[j] = settledOrder(units[i], "")
		}
		if err := g.settle(ctx, p, settled); err != nil {
			return err
		}
	}
	return nil
}

// settled is an order that stands in the database, with its message in the stream if it had one.
type settled struct {
	unit    service.Unit
	message string
}

func settledOrder(u service.Unit, message string) settled { return settled{unit: u, message: message} }

func (g *Gate) settle(ctx context.Context, partition int, orders []settled) error {
	keys := []string{g.keys.pending(partition), g.keys.stream(partition)}
	number := make(map[service.ID]int, 1)
	args := make([]any, 0, 1+3*len(orders))
	args = append(args, streamGroup)
	for _, o := range orders {
		n, ok := number[o.unit.Voucher]
		if !ok {
			n = len(number) + 1
			number[o.unit.Voucher] = n
			keys = append(keys, g.keys.gate(o.unit.Voucher))
		}
		args = append(args, n, o.unit.Order.String(), o.message)
	}
	if err := doneScript.Run(ctx, g.rdb, keys, args...).Err(); err != nil {
		return fmt.Errorf("settle %d orders: %w", len(orders), err)
	}
	return nil
}

// Return implements service.Admitter.
func (g *Gate) Return(ctx context.Context, backs []service.Back) ([]bool, error) {
	out := make([]bool, len(backs))
	groups := byPartition(g.keys, backs, func(b service.Back) service.ID { return b.Voucher })
	for p, at := range groups {
		keys := []string{g.keys.pending(p)}
		number := make(map[service.ID]int, 1)
		args := make([]any, 0, 1+5*len(at))
		args = append(args, g.keys.returns())
		for _, i := range at {
			b := backs[i]
			n, ok := number[b.Voucher]
			if !ok {
				n = len(number) + 1
				number[b.Voucher] = n
				keys = append(keys, g.keys.gate(b.Voucher), g.keys.users(b.Voucher))
			}
			args = append(args, n, b.Voucher.String(), strconv.FormatInt(b.User, 10), b.Order.String(), flag(!b.NoRestock))
		}
		given, err := returnScript.Run(ctx, g.rdb, keys, args...).BoolSlice()
		if err != nil {
			return nil, fmt.Errorf("return %d units: %w", len(at), err)
		}
		for j, i := range at {
			out[i] = given[j]
		}
	}
	return out, nil
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
