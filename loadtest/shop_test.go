package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// shop is a small sale behind several servers, with faults that a test turns on. It stands for the service, whose own
// tests run the real thing.
type shop struct {
	mu     sync.Mutex
	stock  int
	orders []orderRow
	spans  []Span

	oversell  int           // units sold beyond the stock
	refuse    bool          // every order is answered busy
	breakDown int           // every n-th order is answered 500
	dieAfter  int           // server 0 dies with that many orders sold
	exits     bool          // its death is shown to the crew
	slow      time.Duration // how long an order takes at least

	starts, stops, vouchers atomic.Int64

	stage   string // every order has to ask for it
	strange bool   // server 1 does not know the vouchers of server 0
	noLab   bool   // its servers are not in lab mode
	knows   string // the one stage it knows
}

func (s *shop) Start(_ context.Context, spec Spec) (Crew, error) {
	s.starts.Add(1)
	s.orders, s.spans = nil, nil
	c := &shopCrew{shop: s, dead: make([]atomic.Bool, spec.Processes)}
	for i := range spec.Processes {
		c.servers = append(c.servers, httptest.NewServer(c.handler(i)))
	}
	return c, nil
}

type shopCrew struct {
	shop    *shop
	servers []*httptest.Server
	dead    []atomic.Bool
	stop    sync.Once
}

func (c *shopCrew) URLs() (urls []string) {
	for _, s := range c.servers {
		urls = append(urls, s.URL)
	}
	return urls
}
func (c *shopCrew) Dead(i int) bool { return c.dead[i].Load() }
func (c *shopCrew) Deaths() map[int]string {
	d := map[int]string{}
	for i := range c.dead {
		if c.Dead(i) {
			d[i] = "killed"
		}
	}
	return d
}
func (c *shopCrew) Said(int) string { return "" }
func (c *shopCrew) Stopped() int    { return 0 }
func (c *shopCrew) Kill(i int) error {
	c.dead[i].Store(true)
	go c.servers[i].CloseClientConnections()
	return nil
}
func (c *shopCrew) Pause(int, time.Duration) error {
	return errors.New("a test server can't be stopped")
}
func (c *shopCrew) Stop() {
	c.stop.Do(func() {
		c.shop.stops.Add(1)
		for _, s := range c.servers {
			s.Close()
		}
	})
}

func (c *shopCrew) handler(i int) http.Handler {
	mux := http.NewServeMux()
	s := c.shop
	mux.HandleFunc("POST /api/v1/vouchers", s.create)
	mux.HandleFunc("POST /api/v1/vouchers/77/orders", func(w http.ResponseWriter, r *http.Request) { c.order(w, r, i) })
	answer := func(path string, value func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = json.NewEncoder(w).Encode(value())
		})
	}
	answer("/api/v1/vouchers/77/audit", func() any {
		sold := len(s.orders)
		return map[string]int{
			"initial_stock": s.stock, "stock_left": s.stock - sold, "orders": sold, "users": sold,
			"oversold": max(0, sold-s.stock), "duplicates": 0, "drift": 0, "in_flight": 0,
		}
	})
	answer("/api/v1/vouchers/77/orders", func() any {
		rows := []map[string]string{}
		for _, o := range s.orders {
			rows = append(rows, map[string]string{"user_id": fmt.Sprint(int64(o.UserID)), "status": o.Status})
		}
		return rows
	})
	answer("/api/v1/stages", func() any { return []stageName{{s.knows}} })
	mux.HandleFunc("GET /api/v1/vouchers/77", func(w http.ResponseWriter, _ *http.Request) {
		if s.strange && i > 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	if s.noLab {
		return mux
	}
	answer("/api/v1/lab/spans", func() any {
		if i > 0 {
			return []Span{} // the first server records for all
		}
		return append([]Span{}, s.spans...)
	})
	return mux
}

// create puts a fresh voucher on sale.
func (s *shop) create(w http.ResponseWriter, r *http.Request) {
	var v struct{ Stock int }
	_ = json.NewDecoder(r.Body).Decode(&v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vouchers.Add(1)
	s.stock, s.orders, s.spans = v.Stock, nil, nil
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprint(w, `{"id":"77"}`)
}

// order answers one order at server i.
func (c *shopCrew) order(w http.ResponseWriter, r *http.Request, i int) {
	s := c.shop
	user, _ := strconv.ParseInt(r.Header.Get("X-User-ID"), 10, 64)
	if s.stage != "" && r.URL.Query().Get("stage") != s.stage {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if pause(r.Context(), s.slow) != nil {
		return
	}
	status, code := s.sell(user)
	if i == 0 && s.dieAfter > 0 && s.sold() >= s.dieAfter {
		if s.exits {
			c.dead[0].Store(true)
		}
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%q}}`, code)
}

func (s *shop) sold() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

func (s *shop) sell(user int64) (status int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := len(s.spans) + 1
	s.spans = append(s.spans, Span{Key: "v", AcquiredNS: int64(2 * asked), ReleasedNS: int64(2*asked + 1)})
	switch {
	case s.refuse:
		s.spans = nil // nobody ever gets the lock
		return http.StatusServiceUnavailable, "busy"
	case s.breakDown > 0 && asked%s.breakDown == 0:
		return http.StatusInternalServerError, "internal"
	}
	for _, o := range s.orders {
		if int64(o.UserID) == user {
			return http.StatusConflict, "already_ordered"
		}
	}
	if len(s.orders) >= s.stock+s.oversell {
		return http.StatusConflict, "sold_out"
	}
	s.orders = append(s.orders, orderRow{UserID: number(user), Status: "created"})
	return http.StatusCreated, ""
}
