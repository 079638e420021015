// Package backend starts the servers that seckill runs on when it is given no address: embedded ones that need
// nothing but this binary, or spawned ones from programs on this machine.
//
// Everything listens on 127.0.0.1 alone, without a password, on ports that were free. Everything lives in temporary
// directories that Stop removes; what a killed program leaves behind is removed by the next start. The package
// imports nothing else of this module, so that any test may use it.
package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrMissing: none of the programs that could serve is installed. errors.As gives the *MissingError.
var ErrMissing = errors.New("no program to start")

// MissingError names the programs that were looked for and how to install one.
type MissingError struct {
	Programs []string // any of these would do
	Install  string   // a command line
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("neither of %s was found on PATH; install one, for example: %s",
		strings.Join(e.Programs, ", "), e.Install)
}

// Is makes it an ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// Redis is a set of started Redis nodes that know nothing of each other.
type Redis struct {
	Kind    string   // miniredis, redis or valkey
	Version string   // empty for miniredis
	URLs    []string // redis://127.0.0.1:PORT of each node
	nodes   []node
}

// node is one started server, embedded or a process.
type node interface {
	stop() error
	signal(os.Signal) error
}

// errEmbedded: what was asked for needs a server of its own process.
var errEmbedded = errors.New("an embedded server is part of this process and takes no signal")

// Signal sends a signal to one spawned node (fault drills: freeze and thaw it). Embedded nodes refuse.
func (r *Redis) Signal(node int, sig os.Signal) error { return r.nodes[node].signal(sig) }

// Stop ends all nodes, waits for them and removes their files. A second call does nothing.
func (r *Redis) Stop() error {
	var errs []error
	for _, n := range r.nodes {
		errs = append(errs, n.stop())
	}
	r.nodes = nil
	return errors.Join(errs...)
}

// DB is a started database that is empty: its schema is the caller's to make.
type DB struct {
	Kind    string // sqlite, mariadb or mysql
	Version string // empty for sqlite, whose version is the one compiled in
	DSN     string // sqlite:///path or mysql://root@127.0.0.1:PORT/seckill
	node    node
}

// Signal sends a signal to a spawned database server; the embedded one refuses.
func (d *DB) Signal(sig os.Signal) error { return d.node.signal(sig) }

// Stop ends the server, waits for it and removes its files. A second call does nothing.
func (d *DB) Stop() error { return d.node.stop() }

// OpenRedis starts nodes servers of the kind "embedded" or "spawn".
func OpenRedis(ctx context.Context, kind string, nodes int) (*Redis, error) {
	switch kind {
	case "embedded":
		return EmbeddedRedis(nodes)
	case "spawn":
		return SpawnRedis(ctx, nodes)
	}
	return nil, fmt.Errorf("unknown kind of Redis %q; want embedded or spawn", kind)
}

// OpenDB starts a database of the kind "embedded" or "spawn".
func OpenDB(ctx context.Context, kind string) (*DB, error) {
	switch kind {
	case "embedded":
		return EmbeddedDB()
	case "spawn":
		return SpawnDB(ctx)
	}
	return nil, fmt.Errorf("unknown kind of database %q; want embedded or spawn", kind)
}
