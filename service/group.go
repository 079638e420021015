package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// admitWithin bounds one call of the admission script. The call carries the asks of many clients, so it does not end
// with any one of their contexts.
const admitWithin = 5 * time.Second

// Groups lets requests for one voucher share calls of the admission script: while a call is in flight, arriving
// requests gather, and the next call carries all of them, up to MaxAdmit. A request that finds no call in flight is
// sent at once and alone, so gathering costs an idle system nothing.
//
// It starts no goroutine. Each call is made by one of the requests it carries: when a call returns, the first of
// those that gathered makes the next one. The zero value with Gate set is ready; it is safe for concurrent use.
type Groups struct {
	Gate Admitter

	mu       sync.Mutex
	inFlight map[groupKey]*gathering // the keys that have a call in flight
}

type groupKey struct {
	voucher ID
	enqueue bool
}

// gathering are the requests that wait for the call in flight to return.
type gathering struct{ seats []*seat }

// seat is one request's place in a call.
type seat struct {
	ask    Ask
	answer Admission
	err    error
	// turn is sent one value: the seats of the next call, which this request has to make, or nil when the answer
	// is there.
	turn chan []*seat
}

// errNoAnswer is what a request hears whose call did not come back, because it panicked.
var errNoAnswer = errors.New("the admission call did not return")

// Admit asks for one unit. When ctx ends before the ask was sent, it leaves and nothing was taken; that is ErrBusy
// joined with ctx's error. Once it was sent, the answer is waited for, a few seconds at most: a caller whose ctx has
// ended by then and who was admitted holds a unit and has to give it back. Other errors are those of Admitter.Admit.
func (g *Groups) Admit(ctx context.Context, voucher ID, enqueue bool, ask Ask) (Admission, error) {
	if err := ctx.Err(); err != nil {
		return Admission{}, errors.Join(ErrBusy, err)
	}
	key, s := groupKey{voucher, enqueue}, &seat{ask: ask}
	if !g.join(key, s) {
		g.call(ctx, key, []*seat{s})
		return s.answer, s.err
	}
	select {
	case seats := <-s.turn:
		g.take(ctx, key, seats)
		return s.answer, s.err
	case <-ctx.Done():
	}
	if g.leave(key, s) {
		return Admission{}, errors.Join(ErrBusy, ctx.Err())
	}
	g.take(ctx, key, <-s.turn) // it was sent, or it is this request's turn to send
	return s.answer, s.err
}

// join takes a seat among those that gather; false: there is no call in flight, and the caller has to make one.
func (g *Groups) join(key groupKey, s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	gathered, busy := g.inFlight[key]
	if !busy {
		if g.inFlight == nil {
			g.inFlight = map[groupKey]*gathering{}
		}
		g.inFlight[key] = &gathering{}
		return false
	}
	s.turn = make(chan []*seat, 1) // never blocks the one who sends
	gathered.seats = append(gathered.seats, s)
	return true
}

// leave gives the seat up; false: it is part of a call already.
func (g *Groups) leave(key groupKey, s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	gathered := g.inFlight[key]
	if gathered == nil {
		return false
	}
	i := slices.Index(gathered.seats, s)
	if i < 0 {
		return false
	}
	gathered.seats = slices.Delete(gathered.seats, i, i+1)
	return true
}

// take makes the next call, when it was this request's turn.
func (g *Groups) take(ctx context.Context, key groupKey, seats []*seat) {
	if seats != nil {
		g.call(ctx, key, seats)
	}
}

// call asks for all seats at once, hands the turn on and then the answers out.
func (g *Groups) call(ctx context.Context, key groupKey, seats []*seat) {
	answers, err := []Admission(nil), errNoAnswer
	defer func() { // also when Admit panics: those that gather must not wait for ever
		g.pass(key)
		for i, s := range seats {
			if s.err = err; err == nil {
				s.answer = answers[i]
			}
			if i > 0 { // the first is this goroutine's own
				s.turn <- nil
			}
		}
	}()
	asks := make([]Ask, len(seats))
	for i, s := range seats {
		asks[i] = s.ask
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), admitWithin)
	defer cancel()
	answers, err = g.Gate.Admit(ctx, key.voucher, key.enqueue, asks)
}

// pass gives the next call to the first of those that gathered meanwhile.
func (g *Groups) pass(key groupKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gathered := g.inFlight[key]
	n := min(len(gathered.seats), MaxAdmit)
	if n == 0 {
		delete(g.inFlight, key)
		return
	}
	next := gathered.seats[:n:n]
	gathered.seats = slices.Clone(gathered.seats[n:])
	next[0].turn <- next
}
