package router

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// withLife adds the admission and an order's life, on an embedded Redis, without workers.
func withLife(t *testing.T) func(*Options) {
	o, err := redis.ParseURL(backendtest.EmbeddedRedis(t, 1).URLs[0])
	require.NoError(t, err)
	rdb := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return func(o *Options) {
		store, gate := o.Placer.Store.(*repository.Store), repository.NewGate(rdb, repository.GateOptions{})
		returns := &service.Returns{Store: store, Gate: gate}
		o.Preheater = &service.Preheater{Store: store, Gate: gate}
		o.Life = &service.Life{Store: store, Gate: gate, Returns: returns}
		o.Idempotency = &service.Idempotency{Store: store, IDs: o.Placer.IDs}
		o.Queue = repository.NewStream(gate)
		o.Vouchers.Gate = gate
		o.Placer.Intake = &service.Intake{
			Groups: &service.Groups{Gate: gate}, Preheater: o.Preheater, SoldOut: &service.SoldOut{}, Returns: returns,
		}
	}
}

// doFor is do for a client with this context.
func (s *shop) doFor(ctx context.Context, method, target string, headers ...string) answer {
	r := httptest.NewRequest(method, target, nil).WithContext(ctx)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{s.t, w.Code, w.Header(), w.Body.String()}
}

// S-59: twenty requests at once with one key make one order and get one answer, on every path.
func TestIdempotencyKey_OneAnswer(t *testing.T) {
	for _, stage := range []string{"conditional", "gate", "stream"} {
		t.Run(stage, func(t *testing.T) {
			s := newShop(t, withLife(t))
			target := s.voucher(5) + "/orders?stage=" + stage
			answers := make([]answer, 20)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() { answers[i] = s.do("POST", target, "", "X-User-ID: 7", "Idempotency-Key: k1") })
			}
			wg.Wait()
			again := 0
			for _, a := range answers {
				require.Equal(t, answers[0].Status, a.Status)
				require.Equal(t, answers[0].Body, a.Body)
				require.Equal(t, answers[0].Header.Get("Location"), a.Header.Get("Location"))
				if a.Header.Get(idempotentReplay) == "true" {
					again++
				}
			}
			require.Equal(t, 19, again)
			want := http.StatusCreated
			if stage == "stream" {
				want = http.StatusAccepted
			}
			answers[0].is(want, "")
			s.do("GET", answers[0].Header.Get("Location"), "", "X-User-ID: 7").is(http.StatusOK, "")
			s.do("POST", target, "", "X-User-ID: 7").is(http.StatusConflict, "already_ordered")
			s.do("POST", target, "", "X-User-ID: 8", "Idempotency-Key: k1").is(want, "") // a key belongs to its user
		})
	}
}

func TestIdempotencyKey_BelongsToItsRequest(t *testing.T) {
	s := newShop(t, withLife(t))
	one, other := s.voucher(5)+"/orders", s.voucher(5)+"/orders"
	user, key := "X-User-ID: 7", "Idempotency-Key: k1"
	s.do("POST", one, `{"note":1}`, user, key).is(http.StatusCreated, "")
	s.do("POST", one, `{"note":1}`, user, key).is(http.StatusCreated, "")
	s.do("POST", one, `{"note":2}`, user, key).is(http.StatusUnprocessableEntity, "invalid")
	s.do("POST", other, `{"note":1}`, user, key).is(http.StatusUnprocessableEntity, "invalid")
	s.do("POST", one+"?stage=gate", `{"note":1}`, user, key).is(http.StatusUnprocessableEntity, "invalid")
	for _, bad := range []string{strings.Repeat("k", service.MaxIdempotencyKey+1), "with space", "ключ"} {
		s.do("POST", other, "", user, "Idempotency-Key: "+bad).is(http.StatusUnprocessableEntity, "invalid")
	}
	s.do("POST", other, strings.Repeat("x", maxBody+1), user, "Idempotency-Key: k2").is(http.StatusBadRequest, "bad_request")
}

// A definite refusal is an answer like any other; one that may pass is forgotten with its key.
func TestIdempotencyKey_KeepsDefiniteAnswersOnly(t *testing.T) {
	s := newShop(t, withLife(t))
	user, key := "X-User-ID: 7", "Idempotency-Key: k1"
	none := s.voucher(0) + "/orders"
	s.do("POST", none, "", user, key).is(http.StatusConflict, "sold_out")
	again := s.do("POST", none, "", user, key).is(http.StatusConflict, "sold_out")
	require.Equal(t, "true", again.Header.Get(idempotentReplay))

	gone, cancel := context.WithCancel(context.Background())
	cancel()
	some := s.voucher(1) + "/orders"
	s.doFor(gone, "POST", some, user, "Idempotency-Key: k2").is(http.StatusServiceUnavailable, "busy")
	s.do("POST", some, "", user, "Idempotency-Key: k2").is(http.StatusCreated, "")
}

// The first request with a key dies after the admission, and its order ends as failed. The next one hears that it may
// try again, never that it has an order; then the key makes one.
func TestIdempotencyKey_TheFirstAttemptDiedAndFailed(t *testing.T) {
	s := newShop(t, withLife(t))
	target, user, key := s.voucher(1)+"/orders?stage=gate", "X-User-ID: 7", "Idempotency-Key: k1"
	s.options.Placer.Holds.On(service.HoldGateAdmitted, 0, 1, func() { panic("crash") })
	s.do("POST", target, "", user, key).is(http.StatusInternalServerError, "internal")

	store, life := s.options.Placer.Store.(*repository.Store), s.options.Life
	keeper := &service.Reconciler{Store: store, Gate: life.Gate, Returns: life.Returns, Grace: time.Millisecond}
	require.Eventually(t, func() bool { found, err := keeper.Stale(t.Context()); return err == nil && len(found) == 1 },
		10*time.Second, time.Millisecond)
	s.options.Idempotency.Now = func() time.Time { return time.Now().Add(time.Minute) }

	again := s.do("POST", target, "", user, key).is(http.StatusServiceUnavailable, "busy")
	require.NotEmpty(t, again.Header.Get("Retry-After"))
	s.do("POST", target, "", user, key).is(http.StatusCreated, "")
	again = s.do("POST", target, "", user, key).is(http.StatusCreated, "")
	require.Equal(t, "true", again.Header.Get(idempotentReplay))
}

func TestLifeOverHTTP(t *testing.T) {
	s := newShop(t, withLife(t))
	v, user := s.voucher(2), "X-User-ID: 7"
	var heat preheatJSON
	s.do("POST", v+"/preheat", "").is(http.StatusOK, "").into(&heat)
	require.True(t, heat.Made)
	require.Equal(t, 2, heat.Gate.Stock)
	s.do("POST", v+"/preheat", "").is(http.StatusOK, "").into(&heat)
	require.False(t, heat.Made)
	s.do("POST", "/api/v1/vouchers/12345/preheat", "").is(http.StatusNotFound, "not_found")

	placed := s.do("POST", v+"/orders?stage=gate", "", user).is(http.StatusCreated, "")
	order := placed.Header.Get("Location")
	s.do("POST", order+"/pay", "", "X-User-ID: 8").is(http.StatusForbidden, "forbidden")
	var o orderJSON
	s.do("POST", order+"/pay", "", user).is(http.StatusOK, "").into(&o)
	require.Equal(t, service.Paid, o.Status)
	s.do("POST", order+"/cancel", "", user).is(http.StatusConflict, "invalid_state")

	queued := s.do("POST", v+"/orders?stage=stream", "", "X-User-ID: 9").is(http.StatusAccepted, "").Header.Get("Location")
	s.do("GET", queued, "", "X-User-ID: 9").is(http.StatusOK, "").into(&o)
	require.Equal(t, service.Pending, o.Status)
	s.do("POST", queued+"/pay", "", "X-User-ID: 9").is(http.StatusConflict, "invalid_state")
	var ready readyJSON
	s.do("GET", "/readyz", "").is(http.StatusOK, "").into(&ready)
	require.EqualValues(t, 1, ready.Queue.Messages)
	s.do("POST", v+"/orders?stage=stream", "", "X-User-ID: 10").is(http.StatusConflict, "sold_out")
	s.do("POST", queued+"/cancel", "", "X-User-ID: 9").is(http.StatusOK, "").into(&o)
	require.Equal(t, service.Cancelled, o.Status)
	s.do("POST", v+"/orders?stage=stream", "", "X-User-ID: 10").is(http.StatusAccepted, "")
	s.do("POST", "/api/v1/orders/12345/pay", "", user).is(http.StatusNotFound, "not_found")
	s.do("POST", "/api/v1/orders/x/pay", "", user).is(http.StatusBadRequest, "bad_request")
}
