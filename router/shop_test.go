package router

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// shop is the whole service on SQLite, with locks that need no Redis.
type shop struct {
	t       *testing.T
	store   *repository.Store
	holds   *lock.Holds
	options Options
	handler http.Handler
}

func newShop(t *testing.T, change ...func(*Options)) *shop {
	s := &shop{t: t, holds: &lock.Holds{}}
	var err error
	s.store, err = repository.Open(context.Background(), backendtest.MigratedSQLite(t, repository.Migrate), repository.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	ids := s.store.IDs(nil)
	spans := service.NewSpans("p1", 0)
	stage, err := service.StageByName("conditional")
	require.NoError(t, err)
	s.options = Options{
		Placer:   &service.Placer{Store: s.store, IDs: ids, Holds: s.holds, Locker: s.lockers(spans)},
		Vouchers: &service.Vouchers{Catalogue: s.store, Lab: s.store, IDs: ids},
		Stage:    stage, Lab: true, Spans: spans, Log: quiet(),
	}
	for _, f := range change {
		f(&s.options)
	}
	s.handler, err = New(s.options)
	require.NoError(t, err)
	return s
}

// lockers opens a none and a mutex; other kinds are the service's tests' affair.
func (s *shop) lockers(spans *service.Spans) func(service.Stage) (lock.Locker, error) {
	opened := map[string]lock.Locker{}
	for _, kind := range []string{"none", "mutex"} {
		o, err := lock.Open(kind, lock.Resources{}, lock.Options{Wait: -1, Observer: spans.Observer()})
		require.NoError(s.t, err)
		s.t.Cleanup(func() { require.NoError(s.t, o.Close(context.Background())) })
		opened[kind] = o
	}
	return func(st service.Stage) (lock.Locker, error) { return opened[st.Lock], nil }
}

// answer is what came back.
type answer struct {
	t      *testing.T
	Status int
	Header http.Header
	Body   string
}

// do sends a request; headers are "Name: value".
func (s *shop) do(method, target, body string, headers ...string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{s.t, w.Code, w.Header(), w.Body.String()}
}

// is checks status and error code ("" for a success) and returns the body.
func (a answer) is(status int, code string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.Status, a.Body)
	var body struct {
		Error *struct{ Code, Message string }
	}
	if code == "" {
		return a
	}
	d := json.NewDecoder(bytes.NewBufferString(a.Body))
	d.DisallowUnknownFields()
	require.NoError(a.t, d.Decode(&body), a.Body)
	require.NotNil(a.t, body.Error, a.Body)
	require.Equal(a.t, code, body.Error.Code)
	require.NotEmpty(a.t, body.Error.Message)
	return a
}

func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal([]byte(a.Body), v), a.Body)
}

// voucher creates a voucher that is on sale and returns its path.
func (s *shop) voucher(stock int) string {
	v, err := s.options.Vouchers.Create(context.Background(), service.NewVoucher{
		Title: "phone", Stock: stock, PriceCents: 100, BeginAt: time.Now().Add(-time.Hour), EndAt: time.Now().Add(time.Hour),
	})
	require.NoError(s.t, err)
	return "/api/v1/vouchers/" + v.ID.String()
}
