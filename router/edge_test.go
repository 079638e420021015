package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestRoutes_UnknownAndMethods(t *testing.T) {
	s := newShop(t)
	for _, target := range []string{"/nope", "/api/v1", "/api/v1/vouchers/", "/api/v1//vouchers", "/api/v2/vouchers"} {
		s.do("GET", target, "").is(404, "not_found")
	}
	a := s.do("DELETE", "/api/v1/vouchers", "").is(405, "method_not_allowed")
	require.Contains(t, a.Header.Get("Allow"), "POST")
	require.Equal(t, "application/json; charset=utf-8", a.Header.Get("Content-Type"))
}

func TestHealthAndReadiness(t *testing.T) {
	var down error
	s := newShop(t, func(o *Options) { o.Ready = func(context.Context) error { return down } })
	s.do("GET", "/healthz", "").is(200, "")
	s.do("HEAD", "/healthz", "").is(200, "")
	s.do("GET", "/readyz", "").is(200, "")
	down = errors.New("dial tcp 10.1.2.3:6379: connection refused")
	a := s.do("GET", "/readyz", "").is(503, "not_ready")
	require.NotContains(t, a.Body, "10.1.2.3")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	s.do("GET", "/healthz", "").is(200, "")
}

// While the database is away accepted orders wait, and readyz says how many, and for how long.
func TestReadinessShowsTheQueueWhileTheDatabaseIsAway(t *testing.T) {
	s := newShop(t, withLife(t), func(o *Options) {
		o.Ready = func(context.Context) error { return errors.New("the database is away") }
	})
	s.do("POST", s.voucher(5)+"/orders?stage=stream", "", "X-User-ID: 7").is(202, "")
	var body notReadyJSON
	a := s.do("GET", "/readyz", "")
	require.Equal(t, 503, a.Status)
	a.into(&body)
	require.Equal(t, "not_ready", body.Error.Code)
	require.EqualValues(t, 1, body.Queue.Messages)
}

func TestRequestIDs(t *testing.T) {
	s := newShop(t)
	require.Equal(t, "abc-1.2_3", s.do("GET", "/healthz", "", "X-Request-ID: abc-1.2_3").Header.Get("X-Request-ID"))
	for _, bad := range []string{"", "a b", "a\nb", strings.Repeat("a", 65), "é"} {
		made := s.do("GET", "/nope", "", "X-Request-ID: "+bad).Header.Get("X-Request-ID")
		require.True(t, saneID(made))
		require.NotEqual(t, bad, made)
	}
}

// A bug is logged with its stack and told without a word of it; the database's errors likewise.
func TestInternalErrors(t *testing.T) {
	var log bytes.Buffer
	s := newShop(t, func(o *Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	path := s.voucher(5)
	s.options.Placer.IDs = nil
	a := s.do("POST", path+"/orders", "", "X-User-ID: 1", "X-Request-ID: r1").is(500, "internal")
	require.JSONEq(t, `{"error":{"code":"internal","message":"internal error"}}`, a.Body)
	var line map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
	require.Equal(t, "ERROR", line["level"])
	require.Equal(t, "r1", line["request_id"])
	require.Contains(t, line["error"], "nil pointer")
	require.Contains(t, line["error"], "service.(*Placer)", "the stack")

	require.NoError(t, s.store.Close())
	a = s.do("GET", path, "").is(500, "internal")
	require.JSONEq(t, `{"error":{"code":"internal","message":"internal error"}}`, a.Body)
	require.Contains(t, log.String(), "closed")
}

// A client that went away is no error of ours.
func TestClientLeft(t *testing.T) {
	var log bytes.Buffer
	s := newShop(t, func(o *Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequest("GET", s.voucher(1), nil).WithContext(ctx)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Empty(t, log.String())
}

func TestAccessLogIsSilentUnlessDebug(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log bytes.Buffer
		s := newShop(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})) })
		s.do("GET", "/healthz", "").is(200, "")
		s.do("GET", "/nope", "").is(404, "not_found")
		require.Equal(t, want, strings.Contains(log.String(), "path=/healthz status=200"), log.String())
		require.Equal(t, want, log.Len() > 0)
	}
}

func TestMaxInFlight(t *testing.T) {
	s := newShop(t, func(o *Options) { o.MaxInFlight = 1 })
	path, inside, resume := s.voucher(5), make(chan struct{}), make(chan struct{})
	s.holds.On(service.HoldCritical, 0, 1, func() { close(inside); <-resume })
	first := make(chan answer)
	go func() { first <- s.do("POST", path+"/orders", "", "X-User-ID: 1") }()
	<-inside
	a := s.do("POST", path+"/orders", "", "X-User-ID: 2").is(429, "rate_limited")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	s.do("GET", "/healthz", "").is(200, "")
	close(resume)
	(<-first).is(201, "")
	s.do("POST", path+"/orders", "", "X-User-ID: 2").is(201, "")
}
