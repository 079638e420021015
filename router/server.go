package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServerOptions are the server's times. The zero value is usable.
type ServerOptions struct {
	// WriteTimeout bounds a request from its headers to the end of its answer; it must exceed the longest wait
	// for a lock plus the work. Default 2 min.
	WriteTimeout time.Duration
	// Grace is how long requests in flight may go on when the server stops. Default 10 s.
	Grace time.Duration
	// Log gets what net/http complains about. Default slog.Default().
	Log *slog.Logger
}

// Server serves a handler until it is told to stop.
type Server struct {
	http   *http.Server
	grace  time.Duration
	cancel context.CancelFunc // ends the contexts of all requests
}

// NewServer prepares a server; Serve starts it.
func NewServer(h http.Handler, o ServerOptions) *Server {
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 2 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	base, cancel := context.WithCancel(context.Background())
	return &Server{grace: o.Grace, cancel: cancel, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      o.WriteTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}}
}

// Serve serves on the listener until ctx ends, then takes no new requests, waits for those in flight and returns nil.
// When they outlast the grace their contexts end and their connections are cut, which is an error. It closes the
// listener and is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.cancel()
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	err := s.stop(ctx)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		return errors.Join(err, served)
	}
	return err
}

func (s *Server) stop(ctx context.Context) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if s.http.Shutdown(grace) == nil {
		return nil
	}
	s.cancel() // who waits for a lock stops waiting
	short, cancelShort := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancelShort()
	_ = s.http.Shutdown(short)
	return errors.Join(fmt.Errorf("requests were still in flight after %v", s.grace), s.http.Close())
}
