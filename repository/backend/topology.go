package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	hashSlots = 16384 // of a Redis Cluster
	// MasterName is what the sentinels of SpawnSentinel call their primary.
	MasterName = "seckill"
	sentinels  = 3
	quorum     = 2
)

// SpawnCluster starts a Redis Cluster of n primaries without replicas and waits until every node serves. URL is the
// cluster's; Redis.URLs are the nodes'. ErrMissing when no server is installed. ctx bounds the start alone.
func SpawnCluster(ctx context.Context, n int) (*Topology, error) {
	return spawnTopology(ctx, "cluster", func(t *Topology, program string) error {
		var bus []int
		for range n {
			busPort, err := freePort()
			if err != nil {
				return err
			}
			bus = append(bus, busPort)
			if err := t.spawn(ctx, program, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(busPort),
				"--cluster-node-timeout", "2000"); err != nil {
				return err
			}
		}
		t.URL = t.joined(t.URLs, "")
		return t.join(ctx, bus)
	})
}

// SpawnSentinel starts a primary (node 0), a replica (node 1) and three sentinels, and waits until the sentinels know
// all of them. URL is the sentinels'; the primary is called MasterName. ErrMissing and ctx as for SpawnCluster.
func SpawnSentinel(ctx context.Context) (*Topology, error) {
	return spawnTopology(ctx, "sentinel", func(t *Topology, program string) error {
		// By default a primary waits for 5 s before it copies itself, in the hope of more replicas.
		if err := t.spawn(ctx, program, "--repl-diskless-sync-delay", "0"); err != nil {
			return err
		}
		_, port, _ := strings.Cut(t.addr(0), ":")
		if err := t.spawn(ctx, program, "--replicaof", "127.0.0.1 "+port); err != nil {
			return err
		}
		for range sentinels {
			if err := t.spawnSentinel(ctx, program, port); err != nil {
				return err
			}
		}
		t.URL = t.joined(t.URLs[2:], "master_name="+MasterName)
		return t.acquainted(ctx)
	})
}

// Topology is a set of Redis nodes that know each other.
type Topology struct {
	Redis
	URL string // the whole, in go-redis's form
}

func spawnTopology(ctx context.Context, what string, start func(t *Topology, program string) error) (*Topology, error) {
	program, err := lookPath("apt-get install redis-server", RedisPrograms...)
	if err != nil {
		return nil, err
	}
	t := &Topology{}
	if err := start(t, program); err != nil {
		return nil, errors.Join(fmt.Errorf("spawn a redis %s: %w", what, err), t.Stop())
	}
	return t, nil
}

// joined is one URL for several nodes.
func (t *Topology) joined(urls []string, first string) string {
	parameters := strings.Split(first, "&")
	for _, u := range urls[1:] {
		parameters = append(parameters, "addr="+strings.TrimPrefix(u, "redis://"))
	}
	return urls[0] + "?" + strings.TrimPrefix(strings.Join(parameters, "&"), "&")
}

func (t *Topology) addr(node int) string { return strings.TrimPrefix(t.URLs[node], "redis://") }

// on runs f with a client of one node.
func (t *Topology) on(node int, f func(*redis.Client) error) error {
	c := redis.NewClient(&redis.Options{Addr: t.addr(node), MaxRetries: -1, PoolSize: 1})
	defer func() { _ = c.Close() }()
	return f(c)
}

// join deals the slots out, introduces the nodes to each other, and waits until each of them sees all slots served.
func (t *Topology) join(ctx context.Context, bus []int) error {
	n := len(bus)
	for i := range n {
		if err := t.on(i, func(c *redis.Client) error {
			first, last := i*hashSlots/n, (i+1)*hashSlots/n-1
			if err := c.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				return err
			}
			if err := c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil || i == 0 {
				return err
			}
			host, port, _ := strings.Cut(t.addr(0), ":")
			return c.Do(ctx, "CLUSTER", "MEET", host, port, bus[0]).Err()
		}); err != nil {
			return err
		}
	}
	for i := range n {
		if err := t.wait(ctx, i, func(c *redis.Client) error {
			info, err := c.ClusterInfo(ctx).Result()
			if err == nil && !(strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", n))) {
				err = errors.New("the cluster is not joined yet")
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// spawnSentinel starts one sentinel. It writes what it learns into its configuration, so that must be a file.
func (t *Topology) spawnSentinel(ctx context.Context, program, primaryPort string) error {
	return onFreePort(func(port int) error {
		dir, err := newTempDir()
		if err != nil {
			return err
		}
		config := filepath.Join(dir.path, "sentinel.conf")
		lines := []string{
			fmt.Sprintf("port %d", port), "bind 127.0.0.1", "dir " + dir.path,
			fmt.Sprintf("sentinel monitor %s 127.0.0.1 %s %d", MasterName, primaryPort, quorum),
			"sentinel down-after-milliseconds " + MasterName + " 500",
			"sentinel failover-timeout " + MasterName + " 3000", "",
		}
		if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			return errors.Join(err, dir.remove())
		}
		s, err := startServer(dir, program, config, "--sentinel")
		if err != nil {
			return errors.Join(err, dir.remove())
		}
		return t.adopt(ctx, s, port)
	})
}

// acquainted waits until every sentinel knows the replica and the other sentinels: before that no failover succeeds.
func (t *Topology) acquainted(ctx context.Context) error {
	for i := range sentinels {
		if err := t.wait(ctx, 2+i, func(c *redis.Client) error {
			master := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", MasterName)
			if err := c.Process(ctx, master); err != nil {
				return err
			}
			known := master.Val()
			if known["num-other-sentinels"] != strconv.Itoa(sentinels-1) || known["num-slaves"] != "1" {
				return errors.New("the sentinels do not know each other yet")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// wait asks one node until the answer is nil.
func (t *Topology) wait(ctx context.Context, node int, ask func(*redis.Client) error) error {
	return t.nodes[node].(*server).waitReady(ctx, func(context.Context) error {
		return t.on(node, ask)
	})
}
