package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/lock"
)

// Values of Parts.LockKey: what a lock's key is made of.
const (
	KeyVoucher    = "voucher"     // one lock for all buyers of the voucher
	KeyUser       = "user"        // one lock for each user of the voucher
	KeyPerRequest = "per-request" // a lock that nobody else takes: deliberately useless
)

// Values of Parts.LockSpan: what the lock is held around.
const (
	SpanAround = "around" // lock, then begin; commit, then unlock
	SpanEarly  = "early"  // unlock after the reads, then work and commit
	SpanLate   = "late"   // begin and read first, then lock
)

// Values of Parts.OnLoss: what happens to the work when the lease is gone.
const (
	LossIgnore = "ignore" // it goes on
	LossStop   = "stop"   // it runs on Lease.Context(), with Check before the first write and before COMMIT
)

// Values of Parts.StockUpdate: how a unit leaves the stock.
const (
	UpdateNaive       = "naive"       // SELECT, then SET stock = n-1
	UpdateConditional = "conditional" // SET stock = stock-1 WHERE stock > 0
	UpdateCAS         = "cas"         // … AND version = the one that was read
	UpdateForUpdate   = "for-update"  // SELECT … FOR UPDATE inside the transaction
	UpdateSkipLocked  = "skip-locked" // one row per unit, FOR UPDATE SKIP LOCKED
)

// PathSync is the path on which the request itself runs the transaction.
const PathSync = "sync"

// Values are the accepted values of each part of a stage, by the name of its flag, in the order to list them.
func Values() map[string][]string {
	return map[string][]string{
		"lock":         lock.Kinds(),
		"lock-key":     {KeyVoucher, KeyUser, KeyPerRequest},
		"lock-span":    {SpanAround, SpanEarly, SpanLate},
		"on-loss":      {LossIgnore, LossStop},
		"stock-update": {UpdateNaive, UpdateConditional, UpdateCAS, UpdateForUpdate, UpdateSkipLocked},
		"path":         {PathSync, PathGate, PathStream},
	}
}

// Validate says what is wrong with the parts, each or together: ErrInvalid with one sentence, or nil.
func (p Parts) Validate() error {
	values := Values()
	for _, part := range []struct{ flag, value string }{
		{"lock", p.Lock}, {"lock-key", p.LockKey}, {"lock-span", p.LockSpan},
		{"on-loss", p.OnLoss}, {"stock-update", p.StockUpdate}, {"path", p.Path},
	} {
		if ok := values[part.flag]; !slices.Contains(ok, part.value) {
			return invalid("--%s %q is none of %s", part.flag, part.value, strings.Join(ok, ", "))
		}
	}
	if err := p.validNumbers(); err != nil {
		return err
	}
	return p.validTogether()
}

func (p Parts) validNumbers() error {
	switch {
	case p.TTL != 0 && p.TTL < lock.MinTTL:
		return invalid("--ttl %v is below %v", p.TTL, lock.MinTTL)
	case p.Lock == "reentrant-simple" && p.TTL%time.Second != 0:
		return invalid("--ttl %v: reentrant-simple counts its lease in whole seconds (EXPIRE)", p.TTL)
	case p.CASRetries < 0:
		return invalid("--cas-retries %d is negative", p.CASRetries)
	}
	return nil
}

func (p Parts) validTogether() error {
	around := p.LockSpan == SpanAround
	switch {
	case p.Path != PathSync && (p.Lock != "none" || p.StockUpdate != UpdateConditional || !p.Unique):
		return invalid("--path %s admits without a lock and writes what it admitted: it needs --lock none, --stock-update %s "+
			"and --unique on", p.Path, UpdateConditional)
	case !around && p.OnLoss == LossStop:
		return invalid("--lock-span %s works where there is no lease to stop it: it needs --on-loss ignore", p.LockSpan)
	case !around && p.readsInside():
		return invalid("--stock-update %s reads inside its transaction: it needs --lock-span around", p.StockUpdate)
	case !around && p.Lock == "fenced":
		return invalid("--lock fenced claims the row under its lease before it reads: it needs --lock-span around")
	case p.Lock == "fenced" && (p.StockUpdate == UpdateCAS || p.StockUpdate == UpdateSkipLocked):
		return invalid("--stock-update %s does not carry the token of --lock fenced", p.StockUpdate)
	}
	return nil
}

// readsInside tells whether the stock is read inside the write transaction, under the database's own lock.
func (p Parts) readsInside() bool {
	return p.StockUpdate == UpdateForUpdate || p.StockUpdate == UpdateSkipLocked
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
