package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"
)

// Values of --redis and --db that start something.
const (
	embedded = "embedded" // inside of this process
	spawn    = "spawn"    // a program from PATH
)

// engineFlags say where Redis and the database are.
type engineFlags struct {
	redis string
	nodes string
	db    string
}

func (e *engineFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&e.redis, "redis", embedded, "embedded, spawn (redis-server or valkey-server from PATH) or a redis:// address")
	f.StringVar(&e.nodes, "redlock-nodes", "", "addresses of independent Redis servers for redlock, separated by commas")
	f.StringVar(&e.db, "db", embedded, "embedded (SQLite), spawn (mariadbd or mysqld from PATH), sqlite://, mysql:// or a DSN")
}

func started(kind string) bool { return kind == embedded || kind == spawn }

// kindOf is the word of a report for where an engine is.
func kindOf(value string) string {
	if started(value) {
		return value
	}
	return "address"
}

// addresses of running engines.
type addresses struct {
	redis string
	nodes []string
	db    string
}

// flags are the flags with which another process finds the engines.
func (a addresses) flags() []string {
	args := []string{"--redis=" + a.redis, "--db=" + a.db}
	if len(a.nodes) > 0 {
		args = append(args, "--redlock-nodes="+strings.Join(a.nodes, ","))
	}
	return args
}

var quietOnce sync.Once

// quietRedis takes what go-redis would print to stderr: every error is returned as well.
type quietRedis struct{}

func (quietRedis) Printf(_ context.Context, format string, v ...any) {
	slog.Debug(fmt.Sprintf(format, v...))
}

// again are the flags with which a person gets such engines again. An address may carry a password, so it is not
// repeated: the environment that named it still does.
func (e *engineFlags) again() []string {
	name := func(flag, value string) string {
		if started(value) {
			return "--" + flag + "=" + value
		}
		return fmt.Sprintf(`--%s="$%s"`, flag, envName(flag))
	}
	args := []string{name("redis", e.redis), name("db", e.db)}
	if e.nodes != "" {
		args = append(args, name("redlock-nodes", e.nodes))
	}
	return args
}

// openRedis makes a client of an address in one of go-redis's URL forms: several addr parameters make a cluster,
// master_name makes it sentinels.
func openRedis(address string) (redis.UniversalClient, error) {
	quietOnce.Do(func() { redis.SetLogger(quietRedis{}) })
	_, query, _ := strings.Cut(address, "?")
	switch {
	case strings.Contains(query, "master_name="):
		o, err := redis.ParseFailoverURL(address)
		if err != nil {
			return nil, badRedis(err)
		}
		return redis.NewFailoverClient(o), nil
	case strings.Contains(query, "addr="):
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, badRedis(err)
		}
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, badRedis(err)
	}
	return redis.NewClient(o), nil
}

// badRedis must not show the address: it may carry a password.
func badRedis(error) error {
	return usage("the Redis address is none of embedded, spawn, redis://[user:password@]host:port[/db], rediss://… or a " +
		"cluster or sentinel form of those")
}

// openNodes makes a client for each of redlock's nodes.
func openNodes(addresses []string) ([]redis.UniversalClient, error) {
	var nodes []redis.UniversalClient
	for _, a := range addresses {
		n, err := openRedis(a)
		if err != nil {
			closeAll(nodes)
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func closeAll(clients []redis.UniversalClient) {
	for _, c := range clients {
		_ = c.Close()
	}
}

// pingRedis says in one line why Redis can't be used.
func pingRedis(ctx context.Context, c redis.UniversalClient) error {
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", err)
	}
	return nil
}
