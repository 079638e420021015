package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"seckill/router"
)

// redlockNodes is how many independent servers are started when a stage needs a quorum.
const redlockNodes = 5

func serveCommand(std stdio) *cobra.Command {
	s := &serveFlags{}
	cmd := command("serve", "Serve the API", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if err := s.validate(); err != nil {
			return err
		}
		ctx := cmd.Context()
		if s.parentPipe {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			go endWith(std.in, cancel)
		}
		return serve(ctx, s, std)
	})
	s.bind(cmd.Flags())
	return cmd
}

// endWith cancels when the parent closes our stdin, which its end does as well. It is not waited for: a read of stdin
// can't be interrupted.
func endWith(stdin io.Reader, cancel context.CancelFunc) {
	_, _ = io.Copy(io.Discard, stdin)
	cancel()
}

// serve runs one server until ctx ends. Whatever it started has ended when it returns.
func serve(ctx context.Context, s *serveFlags, std stdio) (err error) {
	log := s.logger(std.err)
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("can't listen on %s: %w", s.addr, err)
	}
	defer func() { _ = listener.Close() }()
	stage, err := s.chosen()
	if err != nil {
		return err
	}
	nodes := 1
	if stage.Lock == "redlock" || s.labMode() && s.redis == embedded {
		nodes = redlockNodes // embedded nodes cost nothing, so that a lab can always choose redlock
	}
	run, err := s.start(ctx, nodes)
	defer func() { err = errors.Join(err, run.Close()) }()
	if err != nil {
		return unlessEnded(ctx, err)
	}
	say := eventWriter(std.out)
	a, err := openApp(ctx, s, run.addresses, log, say)
	defer func() { err = errors.Join(err, a.Close()) }()
	if err != nil {
		return unlessEnded(ctx, err)
	}
	url := "http://" + listener.Addr().String()
	banner(std.err, s, url, a, log)
	say(event{Event: eventListening, URL: url})
	if err := router.NewServer(a.handler, router.ServerOptions{Log: log}).Serve(ctx, listener); err != nil {
		return failed(err)
	}
	return nil
}

// unlessEnded: a server that was told to end while it started has not failed.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// banner tells a person what runs. A child process says nothing: its parent reads events.
func banner(w io.Writer, s *serveFlags, url string, a *app, log *slog.Logger) {
	if s.parentPipe {
		return
	}
	log.Info("serving", "url", url, "stage", a.stage.Name, "lab", s.labMode())
	if s.labMode() {
		_, _ = fmt.Fprintf(w, "LAB MODE: no passwords; the header X-User-ID says who one is, and a request may choose its "+
			"stage (?stage=). Use --lab=off and --token-secret for anything else.\n")
	}
}
