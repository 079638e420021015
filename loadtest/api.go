package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// audit is the service's own count for one voucher.
type audit struct {
	InitialStock int `json:"initial_stock"`
	StockLeft    int `json:"stock_left"`
	Orders       int `json:"orders"`
	Users        int `json:"users"`
	Drift        int `json:"drift"`
	InFlight     int `json:"in_flight"`
}

// orderRow is one order as the lab list shows it.
type orderRow struct {
	UserID number `json:"user_id"`
	Status string `json:"status"`
}

// number reads an integer that may be written as a JSON string, as ids are.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	*n = number(v)
	return err
}

var errNoServer = errors.New("no server is left")

// api calls the service at any server that lives.
type api struct {
	crew   Crew
	client *http.Client
	stage  string // asked for in the probe's order, empty: the servers' own
}

// live lists the servers that have not ended.
func (a *api) live() []int {
	var alive []int
	for i := range a.crew.URLs() {
		if !a.crew.Dead(i) {
			alive = append(alive, i)
		}
	}
	return alive
}

func (a *api) first() (string, error) {
	if live := a.live(); len(live) > 0 {
		return a.crew.URLs()[live[0]], nil
	}
	return "", errNoServer
}

// createVoucher puts a fresh voucher on sale and returns its id.
func (a *api) createVoucher(ctx context.Context, p Plan) (string, error) {
	base, err := a.first()
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	body, err := json.Marshal(map[string]any{
		"title": p.Stage.Name + " " + p.Scenario.Name, "stock": p.Stock, "price_cents": 100,
		"begin_at": now.Add(-time.Hour), "end_at": now.Add(24 * time.Hour),
	})
	if err != nil {
		return "", err
	}
	var v struct {
		ID string `json:"id"`
	}
	err = a.call(ctx, http.MethodPost, base+"/api/v1/vouchers", body, &v)
	return v.ID, err
}

// share makes sure that all servers sell the same vouchers.
func (a *api) share(ctx context.Context, voucher string) error {
	for _, base := range a.crew.URLs() {
		status, _, err := a.send(ctx, http.MethodGet, base+"/api/v1/vouchers/"+voucher, nil, nil)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("%s answers %d for a voucher that another server has just created: do they share a database?", base, status)
		}
	}
	return nil
}

func (a *api) audit(ctx context.Context, voucher string) (audit, error) {
	var got audit
	return got, a.get(ctx, "/api/v1/vouchers/"+voucher+"/audit", &got)
}

// glance is an audit by the last server that lives: hold points are in the first one, which may stand still.
func (a *api) glance(ctx context.Context, voucher string) (audit, error) {
	live := a.live()
	if len(live) == 0 {
		return audit{}, errNoServer
	}
	var got audit
	base := a.crew.URLs()[live[len(live)-1]]
	return got, a.call(ctx, http.MethodGet, base+"/api/v1/vouchers/"+voucher+"/audit", nil, &got)
}

func (a *api) orders(ctx context.Context, voucher string) ([]orderRow, error) {
	var got []orderRow
	return got, a.get(ctx, "/api/v1/vouchers/"+voucher+"/orders", &got)
}

// spans gathers the lock ownerships of all living servers.
func (a *api) spans(ctx context.Context, voucher string) ([]Span, error) {
	var all []Span
	for _, i := range a.live() {
		var got []Span
		if err := a.call(ctx, http.MethodGet, a.crew.URLs()[i]+"/api/v1/lab/spans?voucher="+voucher, nil, &got); err != nil {
			return nil, err
		}
		for k := range got {
			got[k].Process = fmt.Sprintf("p%d", i+1) // servers that run elsewhere may all have the same name
		}
		all = append(all, got...)
	}
	return all, nil
}

func (a *api) get(ctx context.Context, path string, into any) error {
	base, err := a.first()
	if err != nil {
		return err
	}
	return a.call(ctx, http.MethodGet, base+path, nil, into)
}

// call sends a request and decodes the answer; an answer that is no success is an error.
func (a *api) call(ctx context.Context, method, target string, body []byte, into any) error {
	status, answer, err := a.send(ctx, method, target, body, nil)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %s", method, target, status, bytes.TrimSpace(answer))
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, target, err)
	}
	return nil
}

func (a *api) send(ctx context.Context, method, target string, body []byte, h http.Header) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range h {
		req.Header[k] = v
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// order places one order and tells what the client was told.
func (a *api) order(ctx context.Context, voucher string, user int64) answer {
	base, err := a.first()
	if err != nil {
		return unknown
	}
	status, body, err := a.send(ctx, http.MethodPost, orderURL(base, voucher)+"?click=probe"+stageQuery(a.stage), nil, userHeader(user))
	if err != nil {
		return unknown
	}
	got, _ := readAnswer(status, body, "")
	return got
}
