package loadtest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// graceTime is how much longer than the lock's wait and the work a client waits for its answer.
const graceTime = 30 * time.Second

// bounded paces an attack that sends n requests as fast as its workers get free, and ends early when ctx does.
type bounded struct {
	ctx context.Context
	n   int
}

func (b bounded) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	return 0, hits >= uint64(b.n) || b.ctx.Err() != nil
}

func (b bounded) Rate(time.Duration) float64 { return 0 }

// attack sends every click of the plan once, calls each with every result as it comes, and returns how long it took.
// It ends when all clicks are answered, cut off or timed out, or soon after ctx ends.
func attack(ctx context.Context, p Plan, t *targeter, each func(*vegeta.Result)) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := newClient(ctx, p.Workers, max(p.Wait, 0)+p.Work+graceTime)
	defer client.CloseIdleConnections()
	workers := uint64(p.Workers)
	attacker := vegeta.NewAttacker(vegeta.Client(client), vegeta.Workers(workers), vegeta.MaxWorkers(workers))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()

	began := time.Now()
	pacer := bounded{ctx, len(t.left)}
	for r := range attacker.Attack(t.next, pacer, 0, "") {
		each(r)
	}
	return time.Since(began)
}

// newClient makes a client whose connections are kept for reuse and are cut when ctx ends, because vegeta's requests
// carry no context. It uses no proxy: the servers are on this host.
func newClient(ctx context.Context, connections int, timeout time.Duration) *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		MaxIdleConnsPerHost: connections,
		DialContext: func(dialCtx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(dialCtx, network, addr)
			if err == nil {
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		},
	}}
}

// readResult turns a result of vegeta into an outcome.
func readResult(r *vegeta.Result, processes map[string]int) (outcome, error) {
	user, process, err := whose(r.URL, processes)
	if err != nil {
		return outcome{}, err
	}
	a, detail := readAnswer(int(r.Code), r.Body, r.Error)
	return outcome{user: user, process: process, answer: a, latency: r.Latency, detail: detail}, nil
}

// hosts maps the host part of the servers' URLs to their numbers.
func hosts(urls []string) (map[string]int, error) {
	byHost := make(map[string]int, len(urls))
	for i, s := range urls {
		u, err := url.Parse(s)
		if err != nil {
			return nil, err
		}
		byHost[u.Host] = i
	}
	return byHost, nil
}
