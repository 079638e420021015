package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// keyStale is the age from which an attempt without an answer counts as dead, and another takes the key over.
	keyStale = 30 * time.Second
	// keyWait bounds how long a repeated request waits for the first one's answer.
	keyWait = 20 * time.Second
	// keyKept is how long answers are kept.
	keyKept = 24 * time.Hour
	// MaxIdempotencyKey is the length of the longest key in bytes.
	MaxIdempotencyKey = 128
)

// Idempotency gives requests with one Idempotency-Key one answer. A key belongs to its user and to the request it was
// first used with. Its fields are set before the first call; it is safe for concurrent use, also by several processes.
type Idempotency struct {
	Store IdempotencyStore
	IDs   IDSource
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Reply is an answer as it is stored. Definite answers are given again; others (busy, a failure) are forgotten, so
// that the same key may try again.
type Reply struct {
	Status   int
	Body     []byte
	Definite bool
}

// RequestHash names a request by everything that its answer depends on.
func RequestHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // the length keeps ("a","b") and ("ab","") apart
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Do runs work for the first request with the key, and gives every other one the same answer; again tells that the
// answer is a stored one. Requests that come while the first is at work wait for it. work places its order under the
// id it is given: the request that takes over from one that died has the same id, and so can't order twice.
//
// ErrInvalid: the key is no key, or it was used with another request. ErrBusy: the first one took too long.
func (i *Idempotency) Do(ctx context.Context, user int64, key, hash string, work func(order ID) Reply) (r Reply, again bool, err error) {
	if err := validKey(key); err != nil {
		return Reply{}, false, err
	}
	id, err := i.IDs.NextID(ctx)
	if err != nil {
		return Reply{}, false, err
	}
	claim := IdempotencyClaim{User: user, Key: key, RequestHash: hash, Order: id}
	for end := i.now().Add(keyWait); ; {
		claim.At = i.now()
		stored, ours, err := i.Store.ClaimKey(ctx, claim, claim.At.Add(-keyStale))
		switch {
		case err != nil:
			return Reply{}, false, err
		case ours:
			r, err := i.answer(ctx, stored, work)
			return r, false, err
		case stored.RequestHash != hash:
			return Reply{}, false, invalid("this Idempotency-Key was used with another request")
		case stored.Status != 0:
			return Reply{Status: stored.Status, Body: stored.Body, Definite: true}, true, nil
		case i.now().After(end):
			return Reply{}, false, fmt.Errorf("%w: the first request with this Idempotency-Key has no answer yet", ErrBusy)
		}
		if !sleep(ctx, 5*time.Millisecond+rand.N(20*time.Millisecond)) {
			return Reply{}, false, errors.Join(ErrBusy, ctx.Err())
		}
	}
}

// answer does the work and stores its answer. A client that leaves meanwhile will ask again, so the answer is stored
// all the same.
func (i *Idempotency) answer(ctx context.Context, c IdempotencyClaim, work func(ID) Reply) (Reply, error) {
	r := work(c.Order)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if !r.Definite {
		_ = i.Store.AbandonKey(ctx, c) // on failure the key becomes stale, which says the same later
		return r, nil
	}
	c.Status, c.Body = r.Status, r.Body
	if err := i.Store.SettleKey(ctx, c); err != nil {
		return Reply{}, fmt.Errorf("store the answer of an Idempotency-Key: %w", err)
	}
	return r, nil
}

// Forget removes keys that are too old to be asked for again, and tells how many.
func (i *Idempotency) Forget(ctx context.Context) (int64, error) {
	return i.Store.ForgetKeys(ctx, i.now().Add(-keyKept))
}

// validKey wants visible ASCII, as RFC 9110 wants of a token-like header.
func validKey(key string) error {
	if key == "" || len(key) > MaxIdempotencyKey {
		return invalid("Idempotency-Key must have 1 to %d characters", MaxIdempotencyKey)
	}
	for _, c := range []byte(key) {
		if c < '!' || c > '~' {
			return invalid("Idempotency-Key must be visible ASCII without spaces")
		}
	}
	return nil
}

func (i *Idempotency) now() time.Time {
	if i.Now == nil {
		return time.Now()
	}
	return i.Now()
}
