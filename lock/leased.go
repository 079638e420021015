package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"
)

// leased is the algorithm of the deployable locks: a token of its own for every attempt, with a time to live, in a
// store. What goes wrong on the way is dealt with here, once for all of them.
type leased struct {
	o      Options
	bg     *background
	store  store
	quick  store // the same, with commands that return within patience; nil: there is none
	fenced bool
	copies int // of an acquire that gets no answer
	id     string
	tokens atomic.Uint64
}

func newLeased(o Options, bg *background, s store) *leased {
	return &leased{o: o, bg: bg, store: s, copies: 3, id: rand.Text()}
}

// errNoAnswer: nobody answered in time; the command may or may not have worked.
var errNoAnswer = errors.New("no answer in time")

const (
	maxPatience  = 500 * time.Millisecond // of silence before a command is sent again
	settleGrace  = 250 * time.Millisecond // for the outcome of an abandoned acquire
	releaseGrace = time.Second            // that Release goes on after its ctx has ended
)

// acquire sends the attempt and returns at the latest when ctx ends. Whatever may then still create the key is taken
// back behind the caller.
func (d *leased) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	c := claim{key: key, token: d.token(), fenced: d.fenced}
	var clipped bool
	c.ttl, clipped = d.o.TTL, d.o.MaxHold > 0 && d.o.MaxHold <= d.o.TTL
	if clipped {
		c.ttl = d.o.MaxHold
	}
	ask := asking[reply]{bg: d.bg, ctx: valuesOf{d.bg.ctx, ctx}, patience: d.patience(), copies: d.copies, limit: c.ttl,
		send: func(ctx context.Context) (reply, error) { return d.store.acquire(ctx, c) }}
	var got answer[reply]
	done := false
	if d.quick != nil && ctx.Done() == nil {
		got, done = ask.here(func(ctx context.Context) (reply, error) { return d.quick.acquire(ctx, c) })
	}
	if !done {
		got = ask.run(ctx)
	}
	unclear := ask.lastSent.Add(c.ttl)
	late := !time.Now().Before(got.sent.Add(c.ttl - drift(c.ttl)))
	pending := ask.open+ask.unclear > 0 // asked before takeBack hands ask to a goroutine
	switch {
	case got.err != nil || !got.val.held:
		d.takeBack(&ask, c)
	case late:
		d.takeBack(&ask, c)
		d.store.forget(debt{claim: c, until: unclear})
		return grant{}, errNoAnswer
	}
	g := grant{held: got.val.held, token: c.token, fence: got.val.fence, sent: got.sent, ttl: c.ttl, clipped: clipped,
		freeIn: got.val.freeIn, res: got.val.ballot}
	if pending {
		g.unclear = unclear
	}
	return g, got.err
}

// patience is how long one copy of a command may stay silent; several of them fit into a lease.
func (d *leased) patience() time.Duration { return min(maxPatience, d.o.TTL/4) }

// takeBack makes sure that no copy of an attempt that came to nothing leaves a key behind.
func (d *leased) takeBack(ask *asking[reply], c claim) {
	if ask.open+ask.unclear == 0 {
		return
	}
	d.bg.run(func() {
		held := false
		known := ask.settle(settleGrace, func(got answer[reply]) {
			if got.val.held {
				held, c.ballot = true, got.val.ballot
			}
		})
		switch owed := (debt{claim: c, until: ask.lastSent.Add(c.ttl)}); {
		case !known:
			owed.copies = ask.sent
			d.store.forget(owed)
		case held:
			d.store.forget(owed)
		}
	})
}

// release compares and deletes, again and again until there is an answer or the lease has run out. "Not ours" is a
// loss at the first copy; later it means that an earlier copy did it, if the lease was valid when Release was called.
func (d *leased) release(ctx context.Context, r *removal) error {
	own := r.own
	c := own.claim()
	ask := asking[verdict]{bg: d.bg, ctx: context.WithoutCancel(ctx), patience: d.patience(), copies: 64, limit: d.o.TTL,
		send: func(ctx context.Context) (verdict, error) { return d.store.unlock(ctx, c) }}
	var got answer[verdict]
	done := false
	r.sending()
	if d.quick != nil {
		got, done = ask.here(func(ctx context.Context) (verdict, error) { return d.quick.unlock(ctx, c) })
	}
	if !done {
		bounded, cancel := releaseTime(ctx, own)
		defer cancel()
		got = ask.run(bounded)
	}
	doubt := got.val == doubtful || got.val == gone && ask.sent > 1
	r.removed = got.val == kept || doubt && r.valid
	if until := time.Now().Add(own.left()); got.err != nil {
		d.store.forget(debt{claim: c, until: until})
	}
	d.abandon(own)
	switch {
	case got.err != nil && !answered(got.err):
		return errors.Join(errNoAnswer, got.err, ctx.Err())
	case got.err != nil:
		return got.err
	case !r.removed:
		return ErrLost
	}
	return nil
}

// releaseTime ends with the lease, or a moment after ctx, which may have ended already.
func releaseTime(ctx context.Context, own *ownership) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(context.Background(), max(own.left(), settleGrace))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(releaseGrace, cancel) })
	return bounded, func() { stop(); cancel() }
}

// abandon takes back what a copy of the acquire without an outcome may still create.
func (d *leased) abandon(own *ownership) {
	if time.Now().Before(own.unclear) {
		d.store.forget(debt{claim: own.claim(), until: own.unclear, copies: d.copies})
	}
}

// claim is the ownership as the store knows it.
func (o *ownership) claim() claim {
	c := claim{key: o.name, token: o.token, ttl: o.l.o.TTL}
	c.ballot, _ = o.res.(*ballot)
	return c
}

// token is unique and is only ever compared as a whole.
func (d *leased) token() string {
	return d.id + ":" + strconv.FormatUint(d.tokens.Add(1), 10)
}
