package router

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

type running struct {
	url  string
	stop context.CancelFunc
	done chan error
}

func serve(t *testing.T, h http.Handler, o ServerOptions) running {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	o.Log = quiet()
	r := running{"http://" + l.Addr().String(), cancel, make(chan error, 1)}
	go func() { r.done <- NewServer(h, o).Serve(ctx, l) }()
	return r
}

func get(t *testing.T, url string) (int, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, err
}

func TestServer_LetsRequestsInFlightFinish(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-release }), ServerOptions{Grace: time.Minute})
	answered := make(chan int, 1)
	go func() {
		status, _ := get(t, s.url)
		answered <- status
	}()
	<-entered
	s.stop()
	require.Eventually(t, func() bool { _, err := get(t, s.url); return err != nil }, 10*time.Second, time.Millisecond,
		"it takes no new requests")
	select {
	case err := <-s.done:
		t.Fatal("it stopped with a request in flight", err)
	default:
	}
	close(release)
	require.Equal(t, http.StatusOK, <-answered)
	require.NoError(t, <-s.done)
}

// A request that outlasts the grace is told by its context, and the stop says so.
func TestServer_EndsContextsAfterTheGrace(t *testing.T) {
	entered, told := make(chan struct{}), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(told)
	}), ServerOptions{Grace: 10 * time.Millisecond})
	go func() { _, _ = get(t, s.url) }()
	<-entered
	s.stop()
	<-told
	require.ErrorContains(t, <-s.done, "still in flight")
}

func TestServer_PortInUseAndTimeouts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	srv := NewServer(http.NotFoundHandler(), ServerOptions{})
	require.Error(t, srv.Serve(context.Background(), l), "a closed listener is an error, not a clean stop")
	require.Positive(t, srv.http.ReadHeaderTimeout)
	require.Positive(t, srv.http.ReadTimeout)
	require.Positive(t, srv.http.WriteTimeout)
	require.Positive(t, srv.http.IdleTimeout)
}
