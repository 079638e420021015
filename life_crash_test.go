package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// convergeIn is how long a sale may take to be in order again after a crash.
const convergeIn = 10 * time.Second

// market is one sale with real processes on real engines.
type market struct {
	t       *testing.T
	fleet   *fleet
	client  *http.Client
	voucher string

	mu       sync.Mutex
	accepted map[int64]string // user -> order that the user was promised
}

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

func newMarket(t *testing.T, at addresses) *market {
	f, err := newFleet(at)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	m := &market{t: t, fleet: f, client: &http.Client{Timeout: 20 * time.Second}, accepted: map[int64]string{}}
	t.Cleanup(m.client.CloseIdleConnections)
	return m
}

// serve starts a server; it ends with the test.
func (m *market) serve(stage string, extra ...string) *child {
	m.t.Helper()
	c := newChild("p")
	m.t.Cleanup(c.stop)
	args := append([]string{"serve", "--parent-pipe", "--lab", "--addr=127.0.0.1:0", "--stage=" + stage, "--log-level=warn"},
		m.fleet.engines.flags()...)
	require.NoError(m.t, c.start(m.t.Context(), m.fleet, append(args, extra...)))
	return c
}

// call returns the status, 0 when there was no answer, and decodes a JSON answer.
func (m *market) call(c *child, method, path string, user int64, body, into any) int {
	var reader io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(m.t, err)
		reader = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, c.url+path, reader)
	require.NoError(m.t, err)
	req.Header.Set("X-User-ID", strconv.FormatInt(user, 10))
	resp, err := m.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0
	}
	if into != nil && resp.StatusCode/100 == 2 {
		require.NoError(m.t, json.Unmarshal(answer, into), "%s", answer)
	}
	return resp.StatusCode
}

// open puts a voucher with that stock on sale.
func (m *market) open(c *child, stock int) {
	var v struct{ ID string }
	now := time.Now().UTC()
	require.Equal(m.t, http.StatusCreated, m.call(c, http.MethodPost, "/api/v1/vouchers", 0, map[string]any{
		"title": "phone", "stock": stock, "price_cents": 100, "begin_at": now.Add(-time.Hour), "end_at": now.Add(time.Hour),
	}, &v))
	m.voucher = v.ID
	require.Equal(m.t, http.StatusOK, m.call(c, http.MethodPost, "/api/v1/vouchers/"+v.ID+"/preheat", 0, nil, nil))
}

// buy places an order and remembers what the user was promised.
func (m *market) buy(c *child, user int64, query ...string) (order string, status int) {
	var placed placedOrder
	path := "/api/v1/vouchers/" + m.voucher + "/orders"
	for _, q := range query {
		path += "?" + q
	}
	status = m.call(c, http.MethodPost, path, user, nil, &placed)
	if status/100 == 2 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.accepted[user] = placed.OrderID
	}
	return placed.OrderID, status
}

type placedOrder struct {
	OrderID string `json:"order_id"`
}

// cancel cancels an order; from then on nobody knows whether it exists, until an answer says so.
func (m *market) cancel(c *child, user int64, order string) {
	m.mu.Lock()
	delete(m.accepted, user)
	m.mu.Unlock()
	m.call(c, http.MethodPost, "/api/v1/orders/"+order+"/cancel", user, nil, nil)
}

// marketAudit is the audit's answer.
type marketAudit struct {
	service.Audit
	VoucherID string `json:"voucher_id"`
}

// converges waits until the books are in order: nothing in flight, no drift in either store. Then nobody was promised
// an order that is not there, and nobody has two.
func (m *market) converges(c *child, why string) marketAudit {
	m.t.Helper()
	began := time.Now()
	var a marketAudit
	clean := func() bool {
		a = marketAudit{}
		return m.call(c, http.MethodGet, "/api/v1/vouchers/"+m.voucher+"/audit", 0, nil, &a) == http.StatusOK &&
			a.InFlight == 0 && a.Drift == 0 && (a.Gate == nil || a.Gate.Drift == 0)
	}
	for !clean() {
		if time.Since(began) > convergeIn {
			m.t.Fatalf("%s: not in order after %v: %+v, gate %+v", why, convergeIn, a.Audit, a.Gate)
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Zero(m.t, a.Oversold+a.Duplicates, "%s: %+v", why, a.Audit)
	var rows []struct {
		ID     string `json:"id"`
		User   string `json:"user_id"`
		Status string `json:"status"`
	}
	require.Equal(m.t, http.StatusOK, m.call(c, http.MethodGet, "/api/v1/vouchers/"+m.voucher+"/orders", 0, nil, &rows))
	live := map[string]string{}
	for _, r := range rows {
		if r.Status == string(service.Created) || r.Status == string(service.Paid) {
			live[r.User] = r.ID
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for user, order := range m.accepted {
		require.Equal(m.t, order, live[strconv.FormatInt(user, 10)], "%s: user %d was promised an order", why, user)
	}
	return a
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

// killRounds names the environment variable with the number of rounds of TestCrash_KillUnderLoad.
const killRounds = "SECKILL_KILL_ROUNDS"

// kill -9 of any process at any moment under load, then restart: nothing lost, nothing doubled, no drift.
func TestCrash_KillUnderLoad(t *testing.T) {
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv(killRounds)); err == nil && n > 0 {
		rounds = n
	}
	crashEngines(t, func(t *testing.T, at addresses) {
		m := newMarket(t, at)
		stages := []string{"gate", "stream"}
		servers := []*child{m.serve(stages[0]), m.serve(stages[1])}
		for round := range rounds {
			m.open(servers[0], 150)
			m.mu.Lock()
			clear(m.accepted)
			m.mu.Unlock()
			victim := round % 2
			moment := time.Duration(round*97%400) * time.Millisecond // spread, and the same in every run
			stop := make(chan struct{})
			var clients sync.WaitGroup
			for i := range int64(8) {
				crowd := slices.Clone(servers)
				clients.Go(func() { m.crowd(crowd, i, stop) })
			}
			time.Sleep(moment)
			require.NoError(t, servers[victim].signal((*os.Process).Kill))
			<-servers[victim].done
			servers[victim] = m.serve(stages[victim])
			close(stop)
			clients.Wait()
			a := m.converges(servers[victim], fmt.Sprintf("round %d", round+1))
			t.Logf("round %d: killed the %s server after %v; %d orders", round+1, stages[victim], moment, a.Orders)
		}
	})
}

// crowd is one of the clients of a loaded sale: new users that buy at any process on any path, some of whom cancel.
func (m *market) crowd(servers []*child, number int64, stop <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		user := number*1_000_000 + n
		at := servers[n%2]
		order, status := m.buy(at, user)
		switch {
		case status == 0:
			time.Sleep(5 * time.Millisecond) // a dead server answers at once
		case status/100 == 2 && n%4 == 0:
			m.cancel(at, user, order)
		}
	}
}
