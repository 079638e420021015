package service

import (
	"context"
	"sync"
	"time"
)

// preheatWithin bounds one preheat. It is shared by all who wait for it, so it does not end with one of their contexts.
const preheatWithin = 15 * time.Second

// Preheater makes gates from the database. Preheating is idempotent: a gate that is there keeps its stock, and one
// that is made leaves out the orders in flight. Its fields are set before the first call; safe for concurrent use.
type Preheater struct {
	Store      LifeStore
	Gate       GateKeeper
	Reconciler *Reconciler // nil: a new gate is not checked

	mu      sync.Mutex
	running map[ID]*preheating
}

type preheating struct {
	done chan struct{}
	made bool
	err  error
}

// Preheat makes the voucher's gate when there is none, and refreshes its sale window otherwise; made tells which.
// ErrNotFound when there is no such voucher. Calls for one voucher at the same time share one look at the database:
// after a flush of Redis thousands of requests miss the gate at once.
func (p *Preheater) Preheat(ctx context.Context, voucher ID) (made bool, err error) {
	p.mu.Lock()
	run, ok := p.running[voucher]
	if !ok {
		run = &preheating{done: make(chan struct{})}
		if p.running == nil {
			p.running = map[ID]*preheating{}
		}
		p.running[voucher] = run
	}
	p.mu.Unlock()
	if !ok {
		p.run(ctx, voucher, run)
		return run.made, run.err
	}
	select {
	case <-run.done:
		return run.made, run.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (p *Preheater) run(ctx context.Context, voucher ID, run *preheating) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), preheatWithin)
	defer cancel()
	run.err = errNoAnswer
	defer func() {
		p.mu.Lock()
		delete(p.running, voucher)
		p.mu.Unlock()
		close(run.done)
	}()
	run.made, run.err = p.make(ctx, voucher)
}

// make reads the database and makes the gate from it. Between the two an order may have been written by a process
// that holds no gate for it, or a unit may have gone back to a gate that did not exist yet; a look at the new gate
// finds those.
func (p *Preheater) make(ctx context.Context, voucher ID) (bool, error) {
	state, err := p.Store.GateState(ctx, voucher)
	if err != nil {
		return false, err
	}
	made, err := p.Gate.Preheat(ctx, state)
	if err == nil && made && p.Reconciler != nil {
		_, err = p.Reconciler.Voucher(ctx, voucher, true)
	}
	return made, err
}
