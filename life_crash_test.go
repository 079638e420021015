package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// crashEngines are the engines of the crash tests, each with an address of its own.
func crashEngines(t *testing.T, test func(t *testing.T, at addresses)) {
	for name, open := range map[string]func(t *testing.T) addresses{
		"embedded": func(t *testing.T) addresses {
			return addresses{redis: backendtest.EmbeddedRedis(t, 1).URLs[0], db: backendtest.SQLite(t)}
		},
		"servers": func(t *testing.T) addresses {
			return addresses{redis: backendtest.RedisNodes(t, 1).URLs[0], db: backendtest.MariaDB(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := open(t)
			_, err := repository.Migrate(t.Context(), at.db)
			require.NoError(t, err)
			test(t, at)
		})
	}
}

// crash is how a hold point is reached.
type crash struct {
	point string
	stage string
	extra []string // flags of the process that dies
	drive func(m *market, dies, lives *child)
	after func(m *market, at addresses)
}

// buyers place n orders in turn at both processes, and with cancels give some of them up.
func buyers(n int64, cancels bool) func(*market, *child, *child) {
	return func(m *market, dies, lives *child) {
		for user := range n {
			at := []*child{dies, lives}[user%2]
			order, status := m.buy(at, user+1)
			if cancels && status/100 == 2 {
				m.cancel(at, user+1, order)
			}
		}
	}
}

var crashes = []crash{
	{point: service.HoldGateAdmitted, stage: "gate", drive: buyers(8, false)},
	{point: service.HoldCritical, stage: "gate", drive: buyers(8, false)},
	{point: service.HoldCommit, stage: "gate", drive: buyers(8, false)},
	{point: service.HoldGateWritten, stage: "gate", drive: buyers(8, false)},
	{point: service.HoldGateDone, stage: "gate", drive: buyers(8, false)},
	{point: service.HoldGateReturned, stage: "gate", drive: refusedByTheDatabase, after: reconcileFixes},
	{point: service.HoldStreamAdmitted, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldWorkerRead, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldCritical, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldCommit, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldWorkerCommitted, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldWorkerAcked, stage: "stream", drive: buyers(8, false)},
	{point: service.HoldWorkerReturned, stage: "stream", extra: []string{"--hold=worker-read=pause:300ms"}, drive: cancelledInTheQueue},
	{point: service.HoldWorkerBuried, stage: "stream", drive: noSuchVoucher},
	{point: service.HoldCancelCommitted, stage: "gate", drive: buyers(8, true)},
	{point: service.HoldCancelReturned, stage: "gate", drive: buyers(8, true)},
	{point: service.HoldCancelCommitted, stage: "stream", drive: buyers(8, true)},
	{point: service.HoldCancelReturned, stage: "stream", drive: buyers(8, true)},
}

// refusedByTheDatabase: the gate does not know that the user bought past it.
func refusedByTheDatabase(m *market, dies, lives *child) {
	_, status := m.buy(lives, 1, "stage=conditional")
	require.Equal(m.t, http.StatusCreated, status)
	m.buy(dies, 1)
}

// reconcileFixes runs the command that explains and repairs what was sold past the gate.
func reconcileFixes(m *market, at addresses) {
	r := seckill(m.t, "reconcile", "--redis="+at.redis, "--db="+at.db, m.voucher)
	require.Equal(m.t, exitFailed, r.code, "%s%s", r.out, r.err)
	require.Contains(m.t, r.out, "open      unknown")
	r = seckill(m.t, "reconcile", "--fix", "--redis="+at.redis, "--db="+at.db, m.voucher)
	require.Equal(m.t, 0, r.code, "%s%s", r.out, r.err)
	require.Contains(m.t, r.out, "repaired  unknown")
}

// cancelledInTheQueue: the worker that dies has read the order when its owner cancels it.
func cancelledInTheQueue(m *market, _, lives *child) {
	for user := range int64(4) {
		order, _ := m.buy(lives, user+1)
		m.cancel(lives, user+1, order)
	}
}

// noSuchVoucher queues a message that can't be written, and some that can.
func noSuchVoucher(m *market, dies, lives *child) {
	o, err := redis.ParseURL(m.fleet.engines.redis)
	require.NoError(m.t, err)
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	require.NoError(m.t, rdb.XAdd(m.t.Context(), &redis.XAddArgs{Stream: "seckill:{gate:0}:stream", Values: map[string]any{
		"order": "77", "voucher": "12345", "user": "9", "ms": "1",
	}}).Err())
	buyers(4, false)(m, dies, lives)
}

// A process is killed at each point between two steps and started again: everything is in order within 10 s, no order
// is lost and none is doubled.
func TestCrash_AtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("kills two processes for each of 18 points")
	}
	tested := map[string]bool{}
	for _, c := range crashes {
		tested[c.point] = true
		t.Run(c.stage+"/"+c.point, func(t *testing.T) {
			crashEngines(t, func(t *testing.T, at addresses) { c.run(t, at) })
		})
	}
	for _, point := range service.HoldPoints() {
		require.True(t, tested[point], "no process is killed at %s", point)
	}
}

func (c crash) run(t *testing.T, at addresses) {
	m := newMarket(t, at)
	// The worker of the process that stays alive must not be quicker than the one that is to die.
	lives := m.serve(c.stage, "--workers=off")
	m.open(lives, 5)
	dies := m.serve(c.stage, append([]string{"--hold=" + c.point + "=kill"}, c.extra...)...)
	driven := make(chan struct{})
	go func() { defer close(driven); c.drive(m, dies, lives) }()
	select {
	case <-dies.done:
	case <-time.After(startLimit):
		t.Fatalf("the process never came to %s: %s", c.point, dies.words.all())
	}
	<-driven
	again := m.serve(c.stage)
	if c.after != nil {
		c.after(m, at)
	}
	m.converges(again, c.point)
	m.buy(again, 1000) // business goes on
	m.converges(again, c.point+", and one more order")
}
