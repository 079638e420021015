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
	quick  store // the same, with commands that keep silent for patience at most; nil: there is none
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
	settleGrace  = 250 * time.Millisecond // for the outcome of an abandoned acquire, and for late answers
	releaseGrace = time.Second            // that Release goes on after its ctx has ended
)

// acquire sends the attempt and returns at the latest when ctx ends. Whatever may then still create the key is taken
// back behind the caller.
func (d *leased) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	ttl, clipped := d.o.TTL, d.o.MaxHold > 0 && d.o.MaxHold <= d.o.TTL
	if clipped {
		ttl = d.o.MaxHold
	}
	c := claim{key: key, token: d.token(), ttl: ttl, fenced: d.fenced, attempt: d.store.size() > 1,
		sent: make([]trail, d.store.size())}
	ask := asking[reply]{bg: d.bg, patience: d.patience(), copies: d.copies, limit: ttl}
	got, done := answer[reply]{}, false
	if d.quick != nil && ctx.Done() == nil {
		got, done = ask.here(ctx, time.Now(), func(ctx context.Context) (reply, error) { return d.quick.acquire(ctx, c) })
	}
	if !done {
		got = ask.run(ctx, withValues(d.bg.ctx, ctx), func(ctx context.Context) (reply, error) { return d.store.acquire(ctx, c) })
	}
	late := !time.Now().Before(got.sent.Add(c.ttl - drift(c.ttl)))
	switch {
	case got.err != nil || !got.val.held:
		d.store.withdraw(c)
	case late:
		d.store.withdraw(c)
		return grant{}, errNoAnswer
	}
	return grant{held: got.val.held, token: c.token, fence: got.val.fence, sent: got.sent, ttl: c.ttl, clipped: clipped,
		freeIn: got.val.freeIn, trails: c.sent}, got.err
}

// patience is how long one copy of a command may stay silent; several of them fit into a lease.
func (d *leased) patience() time.Duration { return min(maxPatience, d.o.TTL/4) }

// release compares and deletes, again and again until there is an answer or the lease has run out. "Not ours" is a
// loss at the first copy that a server took; later it means that an earlier one did it, if the lease was valid when
// Release was called.
func (d *leased) release(ctx context.Context, r *removal) error {
	own := r.own
	c := own.claim()
	ask := asking[verdict]{bg: d.bg, patience: d.patience(), copies: 64, limit: d.o.TTL}
	got, done := answer[verdict]{}, false
	r.sending()
	if d.quick != nil && own.left(r.at) > 3*d.patience() {
		got, done = ask.here(ctx, r.at, func(ctx context.Context) (verdict, error) { return d.quick.unlock(ctx, c) })
	}
	if !done {
		bounded, cancel := releaseTime(ctx, r)
		defer cancel()
		got = ask.run(bounded, context.WithoutCancel(ctx), func(ctx context.Context) (verdict, error) { return d.store.unlock(ctx, c) })
	}
	doubt := got.val == doubtful || got.val == gone && ask.repeated()
	r.removed = got.val == kept || doubt && r.valid
	if got.err != nil {
		d.store.forget(c.owed())
	}
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

// releaseTime ends with the lease, or a moment after ctx, which may have ended before the release began.
func releaseTime(ctx context.Context, r *removal) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(context.Background(), max(r.own.left(time.Now()), settleGrace))
	grace := releaseGrace
	if ctx.Err() != nil {
		grace -= time.Since(r.at)
	}
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return bounded, func() { stop(); cancel() }
}

// abandon takes back what is left of a lease that was lost: a renewal whose answer was lost, or came too late, may have
// kept the key, and a copy of the acquire may still create it.
func (d *leased) abandon(own *ownership) { d.store.forget(own.claim().owed()) }

// claim is the ownership as the store knows it.
func (o *ownership) claim() claim {
	return claim{key: o.name, token: o.token, ttl: o.l.o.TTL, sent: o.trails}
}

// token is unique and is only ever compared as a whole.
func (d *leased) token() string {
	text := make([]byte, 0, 64) // on the stack, where adding strings would take two from the heap
	text = append(append(text, d.id...), ':')
	return string(strconv.AppendUint(text, d.tokens.Add(1), 10))
}
