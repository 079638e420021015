package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// The handlers of a bench.
const (
	benchBare    = "bare"
	benchStream  = "stream"
	benchSoldOut = "sold_out"
)

// benchWriteLimit bounds how long the accepted orders may take to be written.
const benchWriteLimit = 2 * time.Minute

// bench is one running bench.
type bench struct {
	*benchFlags
	fleet    *fleet
	crew     *crew
	client   *http.Client
	urls     map[string]string // of each handler's server
	soldOut  string            // voucher
	vouchers []string          // of the stream rounds
	users    atomic.Int64
}

func (b *benchFlags) run(ctx context.Context, std stdio) (err error) {
	engines, err := b.start(ctx, 1)
	defer func() { err = errors.Join(err, engines.Close()) }()
	if err != nil {
		return interrupted(ctx, err)
	}
	f, err := newFleet(engines.addresses)
	if err != nil {
		return err
	}
	defer f.Close()
	run := &bench{benchFlags: b, fleet: f, crew: &crew{}, client: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: b.workers},
	}}
	defer run.client.CloseIdleConnections()
	defer run.crew.Stop()
	result, err := run.measure(ctx, std.err)
	if err != nil {
		return interrupted(ctx, err)
	}
	if err := result.print(std.out, b.json); err != nil {
		return err
	}
	return b.verdict(result)
}

func (b *bench) measure(ctx context.Context, progress io.Writer) (*benchResult, error) {
	if err := b.startServers(ctx); err != nil {
		return nil, err
	}
	r := &benchResult{Rounds: b.rounds, Requests: b.requests, Rates: map[string][]float64{}}
	for i := range b.rounds {
		for _, which := range rand.Perm(3) { // so that none always runs after the same one
			name := []string{benchBare, benchStream, benchSoldOut}[which]
			rate, err := b.round(ctx, name, i)
			if err != nil {
				return nil, fmt.Errorf("round %d of %s: %w", i+1, name, err)
			}
			r.Rates[name] = append(r.Rates[name], rate)
			_, _ = fmt.Fprintf(progress, "round %d of %d: %-8s %8.0f requests/s\n", i+1, b.rounds, name, rate)
		}
	}
	r.conclude()
	return r, b.writeAll(ctx, r)
}

func (b *bench) startServers(ctx context.Context) error {
	bare, stream := newChild("bare"), newChild("stream")
	b.crew.children = []*child{bare, stream}
	if err := bare.start(ctx, b.fleet, []string{"bench", "--bare"}); err != nil {
		return err
	}
	args := append([]string{"serve", "--parent-pipe", "--lab", "--addr=127.0.0.1:0", "--stage=stream", "--workers=off",
		"--jobs=off", "--log-level=warn"}, b.fleet.engines.flags()...)
	if err := stream.start(ctx, b.fleet, args); err != nil {
		return err
	}
	b.urls = map[string]string{benchBare: bare.url, benchStream: stream.url, benchSoldOut: stream.url}
	// All vouchers are made before the first round: the database is still busy with one for a while after it is made.
	for range b.rounds {
		v, err := b.voucher(ctx, b.requests)
		if err != nil {
			return err
		}
		b.vouchers = append(b.vouchers, v)
	}
	var err error
	b.soldOut, err = b.voucher(ctx, 0)
	return err
}

// round drives one round's requests at a handler and returns the rate.
func (b *bench) round(ctx context.Context, name string, number int) (float64, error) {
	voucher, want := b.soldOut, http.StatusConflict
	if name != benchSoldOut {
		want = http.StatusAccepted
	}
	if name == benchStream {
		voucher = b.vouchers[number]
	}
	target := b.urls[name] + "/api/v1/vouchers/" + voucher + "/orders"
	next := func(t *vegeta.Target) error {
		t.Method, t.URL = http.MethodPost, target
		t.Header = http.Header{"X-User-Id": {strconv.FormatInt(b.users.Add(1), 10)}}
		return nil
	}
	workers := uint64(b.workers)
	attacker := vegeta.NewAttacker(vegeta.Client(b.client), vegeta.Workers(workers), vegeta.MaxWorkers(workers))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	answers := map[uint16]int{}
	began := time.Now()
	for r := range attacker.Attack(next, exactly(b.requests), 0, "") {
		answers[r.Code]++
	}
	took := time.Since(began)
	if answers[uint16(want)] != b.requests {
		return 0, fmt.Errorf("%d of %d requests were answered %d; all: %v", answers[uint16(want)], b.requests, want, answers)
	}
	return float64(b.requests) / took.Seconds(), ctx.Err()
}

// exactly paces an attack of that many requests, each sent as soon as a connection is free.
type exactly int

func (n exactly) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	return 0, hits >= uint64(n)
}
func (n exactly) Rate(time.Duration) float64 { return 0 }

// voucher makes a voucher with a gate.
func (b *bench) voucher(ctx context.Context, stock int) (string, error) {
	now := time.Now().UTC()
	body := map[string]any{
		"title": "bench", "stock": stock, "price_cents": 100, "begin_at": now.Add(-time.Hour), "end_at": now.Add(24 * time.Hour),
	}
	var v struct {
		ID string `json:"id"`
	}
	if err := b.call(ctx, http.MethodPost, "/api/v1/vouchers", body, &v); err != nil {
		return "", err
	}
	return v.ID, b.call(ctx, http.MethodPost, "/api/v1/vouchers/"+v.ID+"/preheat", nil, nil)
}

// writeAll starts a worker and waits until everything that was accepted is written.
func (b *bench) writeAll(ctx context.Context, r *benchResult) error {
	worker := newChild("worker")
	b.crew.children = append(b.crew.children, worker)
	began := time.Now()
	if err := worker.start(ctx, b.fleet, append([]string{"work", "--parent-pipe"}, b.fleet.engines.flags()...)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, benchWriteLimit)
	defer cancel()
	for _, v := range b.vouchers {
		for {
			var audit benchAudit
			if err := b.call(ctx, http.MethodGet, "/api/v1/vouchers/"+v+"/audit", nil, &audit); err != nil {
				return err
			}
			if audit.InFlight == 0 {
				r.Orders, r.Drift = r.Orders+audit.Orders, r.Drift+audit.Drift
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	r.WriteMS = time.Since(began).Milliseconds()
	if want := len(b.vouchers) * b.requests; r.Orders != want {
		return failed(fmt.Errorf("%d orders were accepted and %d written", want, r.Orders))
	}
	return nil
}

// benchAudit is what a bench reads of an audit.
type benchAudit struct {
	Orders   int `json:"orders"`
	Drift    int `json:"drift"`
	InFlight int `json:"in_flight"`
}

// call sends a request to the stream server and decodes its answer.
func (b *bench) call(ctx context.Context, method, path string, body, into any) error {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.urls[benchStream]+path, reader)
	if err != nil {
		return err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(answer))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
