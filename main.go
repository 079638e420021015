// Command seckill teaches, measures and serves flash sales of vouchers.
//
// This package only wires: it reads flags, starts backends and child processes, and hands them to the packages that
// know something. cli_*.go hold the commands, serve_*.go one server, fleet_*.go the children of compare.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The first signal cancels the context, and everything started is stopped; a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
