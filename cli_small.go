package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"seckill/repository"
)

func migrateCommand(std stdio) *cobra.Command {
	var db string
	cmd := command("migrate", "Bring a database's schema up to date", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if db == "" || started(db) {
			return usage("migrate needs the address of a database: --db mysql://user:password@host:port/database")
		}
		n, err := repository.Migrate(cmd.Context(), db)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%d migrations applied; the schema is up to date\n", n)
		return err
	})
	cmd.Flags().StringVar(&db, "db", "", "sqlite:///abs/path.db, mysql://user:password@host:port/database or a go-sql-driver DSN")
	return cmd
}

// healthCommand lets a container without a shell ask its own server.
func healthCommand(std stdio) *cobra.Command {
	var addr string
	cmd := command("health", "Ask a server whether it is ready", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return usage("--addr %q is not host:port", addr)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
		if err != nil {
			return usage("--addr %q is not host:port", addr)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return failed(errors.New("not ready: no answer"))
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return failed(fmt.Errorf("not ready: status %d", resp.StatusCode))
		}
		_, err = fmt.Fprintln(std.out, "ready")
		return err
	})
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address that the server listens on")
	return cmd
}

func versionCommand(std stdio) *cobra.Command {
	return command("version", "Print the version", cobra.NoArgs, func(*cobra.Command, []string) error {
		version := "(devel)"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			version = info.Main.Version
		}
		_, err := fmt.Fprintf(std.out, "seckill %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
