package lock

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// asking sends one command until it is answered. A copy has a goroutine of its own, so that neither a silent server nor
// a client without time-outs can hold the caller longer than ctx: the goroutine stays with its command, the caller
// goes. That costs two thread switches, which is much beside a round trip; so the first copy is sent from the caller's
// goroutine where its time is bounded in another way. Only commands that are harmless when repeated are asked.
type asking[T any] struct {
	bg       *background
	patience time.Duration // of silence before another copy is sent
	copies   int           // at most
	limit    time.Duration // of silence after the last copy
	sent     int
	open     int // copies without an outcome
	failed   int // copies that ended without an answer
	refused  int // of them that have certainly not worked

	// of run
	commands context.Context
	send     func(ctx context.Context) (T, error)
	answers  chan answer[T]
}

// answer is one copy's outcome.
type answer[T any] struct {
	val  T
	err  error
	sent time.Time // before the copy was sent
}

// answered tells an answer, be it an error, from a failure to get one. A server that is only not ready has not answered;
// a client that was closed will not.
func answered(err error) bool { return concluded(err) && !notReady(err) }

// concluded says whether a command that ended with err has had its outcome: it will not be executed later.
func concluded(err error) bool {
	var reply redis.Error
	switch {
	case err == nil:
		return true
	case errors.Is(err, errNoAnswer):
		return false
	case errors.As(err, &reply):
		return true
	}
	return slices.ContainsFunc(conclusive, func(target error) bool { return errors.Is(err, target) })
}

// conclusive are the errors of commands that no server has to answer any more.
var conclusive = []error{ErrNoQuorum, errSlow, errYoung, errWithdrawn, redis.ErrClosed}

// notReady says whether the server refused the command, as it would have refused any other, for the time being.
func notReady(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		slices.ContainsFunc(passing, func(prefix string) bool { return strings.HasPrefix(reply.Error(), prefix) })
}

// passing are the errors of a server that starts, runs another's slow script, fails over, moves its slots or has too
// many clients.
var passing = []string{"LOADING ", "BUSY ", "READONLY ", "MASTERDOWN ", "NOREPLICAS ", "CLUSTERDOWN ", "TRYAGAIN ",
	"ERR max number of clients reached"}

// silent says whether a time-out ended the command: the client's own may be shorter than ours.
func silent(err error) bool {
	var timed net.Error
	return errors.As(err, &timed) && timed.Timeout() || errors.Is(err, redis.ErrPoolTimeout)
}

// here sends a copy now, at began, by send, whose command keeps silent for patience at most, and reports whether that
// was the end of it. What comes before the command, a free connection of the pool or a new one, takes twice as long at
// most.
func (a *asking[T]) here(values context.Context, began time.Time, send func(ctx context.Context) (T, error)) (answer[T], bool) {
	a.sent, a.open = 1, 1
	val, err := send(withValues(a.bg.moment(began, a.patience), values))
	got := answer[T]{val, err, began}
	return got, a.close(got) || a.copies == 1
}

// run sends copies until there is an outcome. It returns the first answer; or the last failure when all copies failed;
// or errNoAnswer when all keep silent; or ctx's error when it ends before. The copies go on with commands then.
func (a *asking[T]) run(ctx, commands context.Context, send func(ctx context.Context) (T, error)) answer[T] {
	a.commands, a.send, a.answers = commands, send, make(chan answer[T], a.copies)
	next := a.backoff()
	if a.sent == 0 {
		a.launch()
		next = a.silence()
	}
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case got := <-a.answers:
			if a.close(got) || a.open == 0 && a.sent == a.copies {
				return got
			}
			if a.sent < a.copies {
				timer.Reset(a.backoff())
			}
		case <-timer.C:
			if a.sent == a.copies {
				return answer[T]{err: errNoAnswer}
			}
			a.launch()
			timer.Reset(a.silence())
		case <-ctx.Done():
			return answer[T]{err: ctx.Err()}
		}
	}
}

// silence is how long to wait after a copy.
func (a *asking[T]) silence() time.Duration {
	if a.sent == a.copies {
		return a.limit
	}
	return a.patience
}

// launch sends a copy.
func (a *asking[T]) launch() {
	a.sent++
	a.open++
	ctx, sent, answers, send := a.commands, time.Now(), a.answers, a.send
	a.bg.run(func() {
		val, err := send(ctx)
		answers <- answer[T]{val, err, sent}
	})
}

// close notes a copy's outcome and reports whether it is an answer.
func (a *asking[T]) close(got answer[T]) bool {
	a.open--
	if answered(got.err) {
		return true
	}
	a.failed++
	if concluded(got.err) {
		a.refused++
	}
	return false
}

// repeated says whether another copy than the answered one may have worked.
func (a *asking[T]) repeated() bool { return a.sent-a.refused > 1 }

// backoff grows with every failure: a broken connection deserves a new one at once, a dead server some time.
func (a *asking[T]) backoff() time.Duration {
	return min(a.patience, time.Duration(a.failed*a.failed)*2*time.Millisecond)
}
