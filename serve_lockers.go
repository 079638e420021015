package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/lock"
	"seckill/repository"
	"seckill/service"
)

// lockers opens the lock of each stage when it is first asked for. Safe for concurrent use.
type lockers struct {
	base      lock.Resources
	options   lock.Options
	db        string // address of the database, for get-lock's own pool
	lockConns int

	mu     sync.Mutex
	opened map[lockID]lock.Opened
	pool   *sql.DB
}

// lockID tells apart the locks that can't be one: a mutex is shared by all stages that use it in the same way.
type lockID struct {
	kind      string
	wait, ttl time.Duration
}

// of gives the locker of a stage.
func (l *lockers) of(s service.Stage) (lock.Locker, error) {
	return l.get(lockID{s.Lock, s.Wait, s.TTL})
}

func (l *lockers) get(id lockID) (lock.Locker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o, ok := l.opened[id]; ok {
		return o, nil
	}
	r := l.base
	if id.kind == "redlock" && len(r.Nodes) == 0 {
		return nil, fmt.Errorf("the lock redlock needs several servers: --redlock-nodes")
	}
	if id.kind == "get-lock" {
		if err := l.openPool(); err != nil {
			return nil, err
		}
		r.DB = l.pool
	}
	options := l.options
	options.Wait, options.TTL = id.wait, id.ttl
	o, err := lock.Open(id.kind, r, options)
	if err != nil {
		return nil, err
	}
	if l.opened == nil {
		l.opened = map[lockID]lock.Opened{}
	}
	l.opened[id] = o
	return o, nil
}

func (l *lockers) openPool() error {
	if l.pool != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	pool, err := repository.OpenPool(ctx, l.db, l.lockConns)
	if err != nil {
		return fmt.Errorf("the lock get-lock: %w", err)
	}
	l.pool = pool
	return nil
}

// Close ends all leases and what was opened for the locks.
func (l *lockers) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, o := range l.opened {
		errs = append(errs, o.Close(ctx))
	}
	l.opened = nil
	if l.pool != nil {
		errs = append(errs, l.pool.Close())
	}
	return errors.Join(errs...)
}
