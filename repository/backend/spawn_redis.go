package backend

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// RedisPrograms are the programs that SpawnRedis looks for, in this order.
var RedisPrograms = []string{"redis-server", "valkey-server"}

// SpawnRedis starts nodes servers on free loopback ports and waits until they answer. They keep nothing on disk.
// ErrMissing when no server is installed. ctx bounds the start alone.
func SpawnRedis(ctx context.Context, nodes int) (*Redis, error) {
	program, err := lookPath("apt-get install redis-server", RedisPrograms...)
	if err != nil {
		return nil, err
	}
	r := &Redis{}
	for range nodes {
		if err := r.spawn(ctx, program); err != nil {
			return nil, errors.Join(fmt.Errorf("spawn redis: %w", err), r.Stop())
		}
	}
	return r, nil
}

func (r *Redis) spawn(ctx context.Context, program string, more ...string) error {
	return onFreePort(func(port int) error { return r.spawnOn(ctx, program, port, more...) })
}

func (r *Redis) spawnOn(ctx context.Context, program string, port int, more ...string) error {
	dir, err := newTempDir()
	if err != nil {
		return err
	}
	args := append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", dir.path, "--daemonize", "no"}, more...)
	s, err := startServer(dir, program, args...)
	if err != nil {
		return errors.Join(err, dir.remove())
	}
	return r.adopt(ctx, s, port)
}

// adopt waits until a started server answers and makes it a node, or stops it.
func (r *Redis) adopt(ctx context.Context, s *server, port int) error {
	if err := s.waitReady(ctx, func(ctx context.Context) error { return r.ask(ctx, port, s.cmd) }); err != nil {
		return errors.Join(err, s.stop())
	}
	r.nodes = append(r.nodes, s)
	r.URLs = append(r.URLs, fmt.Sprintf("redis://127.0.0.1:%d", port))
	return nil
}

// ask tells whether our own server answers on the port, and notes what it is. Another program may have taken the
// port in between, so the process id in the answer must be the right one.
func (r *Redis) ask(ctx context.Context, port int, cmd *exec.Cmd) error {
	c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), MaxRetries: -1, PoolSize: 1})
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[k] = v
	}
	if info["process_id"] != strconv.Itoa(cmd.Process.Pid) {
		return fmt.Errorf("port %d is served by process %s, not by ours", port, info["process_id"])
	}
	r.Kind, r.Version = "redis", info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		r.Kind, r.Version = "valkey", v
	}
	return nil
}
