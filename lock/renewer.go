package lock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// renewer is the watchdog: one goroutine that gives the leases of a Client more time, in batches. It asks again at
// TTL/3 after the last confirmed command, and while there is no answer every TTL/12 until the lease's own deadline
// ends it. It never creates a key, and after a Release it knows the lease no more.
type renewer struct {
	o     Options
	bg    *background
	store store

	mu      sync.Mutex
	due     map[*ownership]time.Time
	running bool
	sooner  chan struct{} // a lease is due before the goroutine would look
	next    time.Time
}

func newRenewer(o Options, bg *background, s store) *renewer {
	return &renewer{o: o, bg: bg, store: s, due: map[*ownership]time.Time{}, sooner: make(chan struct{}, 1)}
}

// add begins to renew own, which was granted what c says.
func (r *renewer) add(own *ownership, g grant) {
	if g.clipped {
		return // MaxHold comes first
	}
	at := g.sent.Add(r.o.TTL / 3)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due[own] = at
	if !r.running {
		r.running, r.next = true, at
		r.bg.run(r.loop)
	} else if at.Before(r.next) {
		poke(r.sooner)
	}
}

func (r *renewer) remove(own *ownership) {
	r.mu.Lock()
	delete(r.due, own)
	r.mu.Unlock()
}

func (r *renewer) loop() {
	timer := time.NewTimer(time.Until(r.nextLook()))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-r.sooner:
		case <-r.bg.open.Done():
			return // Close has ended the leases; the client takes no new ones
		}
		batch, more := r.collect(time.Now())
		for part := range slices.Chunk(batch, batchMost) {
			r.bg.run(func() { r.renew(part) })
		}
		if !more {
			return
		}
		timer.Reset(time.Until(r.nextLook()))
	}
}

func (r *renewer) nextLook() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// collect takes the leases that are due now or so soon that they can share a round trip. Without leases the
// goroutine's work is over. It is not looked for when the last lease goes, so that short leases, one after the other,
// do not start a goroutine each.
func (r *renewer) collect(now time.Time) (batch []*ownership, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again, soon := now.Add(r.o.TTL/12), now.Add(r.o.TTL/50)
	r.next = now.Add(r.o.TTL)
	for own, at := range r.due {
		if at.Before(soon) {
			batch, at = append(batch, own), again
			r.due[own] = again
		}
		if at.Before(r.next) {
			r.next = at
		}
	}
	r.running = len(r.due) > 0
	return batch, r.running
}

// renew sends one batch and hands out its answers.
func (r *renewer) renew(batch []*ownership) {
	sent := time.Now()
	claims := make([]claim, len(batch))
	clipped := make([]bool, len(batch))
	for i, own := range batch {
		var ttl time.Duration
		ttl, clipped[i] = clip(r.o.TTL, sent, own.maxAt)
		claims[i] = claim{key: own.name, token: own.token, ttl: ttl}
	}
	ctx, cancel := context.WithTimeout(r.bg.ctx, r.o.TTL)
	defer cancel()
	for i, v := range r.store.renew(ctx, claims) {
		r.answer(batch[i], v, sent, claims[i].ttl, clipped[i])
	}
}

func (r *renewer) answer(own *ownership, v verdict, sent time.Time, ttl time.Duration, clipped bool) {
	var err error
	switch v {
	case kept:
		own.confirm(sent, ttl, clipped)
		r.mu.Lock()
		if _, live := r.due[own]; live && clipped {
			delete(r.due, own)
		} else if live {
			r.due[own] = sent.Add(r.o.TTL / 3)
		}
		r.mu.Unlock()
	case gone:
		err = fmt.Errorf("%w: Redis says that the key is not ours", ErrLost)
	case unknown:
		err = errNoAnswer
	}
	own.l.tell(own.l.o.Observer.Renewed, own.event(time.Now(), err))
	if v == gone {
		own.end(err)
	}
}

// clip shortens ttl so that the key lapses when MaxHold is over. Redis counts whole milliseconds.
func clip(ttl time.Duration, now, maxAt time.Time) (time.Duration, bool) {
	if maxAt.IsZero() || now.Add(ttl).Before(maxAt) {
		return ttl, false
	}
	return max(maxAt.Sub(now).Truncate(time.Millisecond), time.Millisecond), true
}
