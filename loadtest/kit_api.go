package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	kitCallTimeout = 10 * time.Second
	kitDrainPoll   = 200 * time.Millisecond
	kitDrainLimit  = time.Minute
)

// errUnknown is an answer 404.
var errUnknown = errors.New("not found")

// call asks the kit's first server, as the administrator.
func (k Kit) call(ctx context.Context, method, path string, body []byte, into any) error {
	if len(k.Targets) == 0 {
		return fmt.Errorf("%w: no server is named", ErrKit)
	}
	return k.callAt(ctx, k.Targets[0], method, path, body, into)
}

// callAt asks one server. Without into the answer's body is of no interest.
func (k Kit) callAt(ctx context.Context, base, method, path string, body []byte, into any) error {
	client := newClient(ctx, 1, kitCallTimeout)
	defer client.CloseIdleConnections()
	header := http.Header{}
	for name, value := range k.Admin {
		header.Set(name, value)
	}
	target := base + path
	status, answer, err := (&api{client: client}).send(ctx, method, target, body, header)
	if err != nil {
		return err
	}
	if status == http.StatusNotFound {
		return fmt.Errorf("%s %s: %w", method, target, errUnknown)
	}
	if status/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %s", method, target, status, bytes.TrimSpace(answer))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// CreateVoucher puts a fresh voucher on sale for a day and makes the kit's requests ask for it.
func (k *Kit) CreateVoucher(ctx context.Context, stock int) error {
	now := time.Now().UTC()
	body, err := json.Marshal(map[string]any{
		"title": "load test", "stock": stock, "price_cents": 100,
		"begin_at": now.Add(-time.Minute), "end_at": now.Add(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	var v struct {
		ID string `json:"id"`
	}
	if err := k.call(ctx, http.MethodPost, "/api/v1/vouchers", body, &v); err != nil {
		return err
	}
	k.Voucher, k.InitialStock = v.ID, stock
	return nil
}

func (k Kit) audit(ctx context.Context) (audit, error) {
	var got audit
	return got, k.call(ctx, http.MethodGet, "/api/v1/vouchers/"+k.Voucher+"/audit", nil, &got)
}

// Look asks the service for the voucher's initial stock, and refuses a voucher that has been sold already: its first
// buyers would be refused for their earlier orders, and the count at the end would not be of this test. Every server has
// to answer and to know the voucher.
func (k *Kit) Look(ctx context.Context) error {
	now, err := k.audit(ctx)
	if err != nil {
		return err
	}
	k.InitialStock = now.InitialStock
	if now.Orders != 0 || now.InFlight != 0 {
		return fmt.Errorf("%w: voucher %s already has %d orders; take a new one, or reset it",
			ErrKit, k.Voucher, now.Orders+now.InFlight)
	}
	for _, base := range k.Targets[1:] {
		err := k.callAt(ctx, base, http.MethodGet, "/api/v1/vouchers/"+k.Voucher, nil, nil)
		if errors.Is(err, errUnknown) {
			return fmt.Errorf("%w: %s does not know the voucher; the servers must share a database", ErrKit, base)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drained waits until no order is in flight and two counts in a row are equal, and returns the last.
func (k Kit) drained(ctx context.Context) (audit, error) {
	ctx, cancel := context.WithTimeout(ctx, kitDrainLimit)
	defer cancel()
	var before audit
	for first := true; ; first = false {
		now, err := k.audit(ctx)
		if err != nil {
			return now, err
		}
		if !first && now == before && now.InFlight == 0 {
			return now, nil
		}
		before = now
		if err := pause(ctx, kitDrainPoll); err != nil {
			return now, fmt.Errorf("%d orders are still in flight: %w", now.InFlight, err)
		}
	}
}
