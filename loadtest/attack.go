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

// closedLoop paces an attack that sends as fast as its workers get free, and ends when the clicks or ctx do.
type closedLoop struct {
	ctx    context.Context
	clicks *targeter
}

// Pace implements vegeta.Pacer.
func (c closedLoop) Pace(time.Duration, uint64) (time.Duration, bool) {
	c.clicks.handOver()
	stop := c.clicks.waiting() == 0 || c.ctx.Err() != nil
	if !stop {
		c.clicks.reserve()
	}
	return 0, stop
}

// Rate implements vegeta.Pacer.
func (c closedLoop) Rate(time.Duration) float64 { return 0 }

// attack sends every click of the plan once, calls each with every result as it comes, and returns how long it took. It
// ends when all clicks are answered, cut off or timed out, or soon after ctx ends. With a rate, dropped is called for each
// click that could not be sent in time.
func attack(ctx context.Context, p Plan, t *targeter, each func(*vegeta.Result), dropped func()) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := newClient(ctx, p.Workers, max(p.Wait, 0)+p.Work+graceTime)
	defer client.CloseIdleConnections()
	workers := uint64(p.Workers)
	attacker := vegeta.NewAttacker(vegeta.Client(client), vegeta.Workers(workers), vegeta.MaxWorkers(workers))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()

	var pacer vegeta.Pacer = closedLoop{ctx, t}
	answered := func() {}
	if p.Rate > 0 {
		open := &openLoop{
			ctx: ctx, pacer: vegeta.ConstantPacer{Freq: p.Rate, Per: time.Second}, workers: p.Workers, clicks: t, dropped: dropped,
		}
		pacer, answered = open, open.free
	}
	began := time.Now()
	for r := range attacker.Attack(t.next, pacer, 0, "") {
		answered()
		each(r)
	}
	return time.Since(began)
}

// newClient makes a client whose connections are kept for reuse and are cut when ctx ends, because vegeta's requests
// carry no context. It uses no proxy: it is the servers that are measured.
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
