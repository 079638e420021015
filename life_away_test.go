package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
)

// awayFor names the environment variable with how long TestAway stops the database.
const awayFor = "SECKILL_AWAY"

// The database stands still under load: the stream goes on accepting, the depth and the age of the queue are to be
// seen, and when the database is back everything that was accepted is written.
func TestAway_TheDatabaseStopsUnderLoad(t *testing.T) {
	away := 2 * time.Second
	if d, err := time.ParseDuration(os.Getenv(awayFor)); err == nil && d > 0 {
		away = d
	}
	db := backendtest.OwnDB(t)
	at := addresses{redis: backendtest.RedisNodes(t, 1).URLs[0], db: db.DSN}
	_, err := repository.Migrate(t.Context(), at.db)
	require.NoError(t, err)
	m := newMarket(t, at)
	server := m.serve("stream")
	m.open(server, 100_000)

	stop := make(chan struct{})
	var clients sync.WaitGroup
	for i := range int64(4) {
		clients.Go(func() { m.customer(server, i*1_000_000, stop) })
	}
	rest := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer rest()
	require.Eventually(t, func() bool { return m.promised() > 20 }, convergeIn, time.Millisecond)

	require.NoError(t, db.Signal(syscall.SIGSTOP))
	until := time.Now().Add(away)
	defer func() { _ = db.Signal(syscall.SIGCONT) }() // whatever fails: it can't be stopped while it stands still
	require.Eventually(t, func() bool { return m.gauge(server, "seckill_stream_pending") > 50 }, convergeIn,
		20*time.Millisecond, "accepted orders wait")
	before := m.promised()
	require.Eventually(t, func() bool { return m.promised() > before+20 }, convergeIn, time.Millisecond, "it goes on accepting")
	time.Sleep(time.Until(until))
	status, body := m.get(server, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	require.Regexp(t, `"messages":[1-9]\d+,"oldest_ms":[1-9]\d{2,}`, body)
	require.Positive(t, m.gauge(server, "seckill_stream_age_seconds"))
	require.NoError(t, db.Signal(syscall.SIGCONT))

	rest()
	a := m.converges(server, "the database is back")
	t.Logf("away for %v; %d orders, all written", away, a.Orders)
	require.Equal(t, m.promised(), a.Orders)
}

// customer buys as a new user, again and again.
func (m *market) customer(at *child, number int64, stop <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		default:
			m.buy(at, number+n)
			time.Sleep(time.Millisecond) // a sale, not a flood: the engines share the machine with the test
		}
	}
}

func (m *market) promised() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.accepted)
}

func (m *market) get(c *child, path string) (status int, body string) {
	resp, err := m.client.Get(c.url + path)
	require.NoError(m.t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(m.t, err)
	return resp.StatusCode, string(b)
}

// gauge reads one value of /metrics, rounded up.
func (m *market) gauge(c *child, name string) int64 {
	_, body := m.get(c, "/metrics")
	found := regexp.MustCompile(`(?m)^` + name + `(?:\{[^}]*\})? (\S+)$`).FindStringSubmatch(body)
	require.NotNil(m.t, found, "%s is not in /metrics", name)
	v, err := strconv.ParseFloat(found[1], 64)
	require.NoError(m.t, err)
	return int64(v + 0.999)
}
