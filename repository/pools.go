package repository

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
)

// redisPool shows the connection pool of a Redis client as Prometheus metrics.
type redisPool struct {
	client                                            redis.UniversalClient
	open, idle, hits, misses, timeouts, waited, stale *prometheus.Desc
}

// RedisPool collects the statistics of a client's connection pool. A timeout there is a request that got no
// connection: the pool is too small for the load, or connections are held for too long.
func RedisPool(client redis.UniversalClient) prometheus.Collector {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("seckill_redis_pool_"+name, help, nil, nil)
	}
	return &redisPool{
		client:   client,
		open:     describe("connections", "Open connections to Redis."),
		idle:     describe("idle_connections", "Open connections that nobody uses."),
		hits:     describe("hits_total", "Commands that found a free connection."),
		misses:   describe("misses_total", "Commands that had to open or await a connection."),
		timeouts: describe("timeouts_total", "Commands that got no connection in time."),
		waited:   describe("waits_total", "Commands that waited for a connection."),
		stale:    describe("stale_total", "Connections that were closed because they were broken or too old."),
	}
}

func (p *redisPool) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.open, p.idle, p.hits, p.misses, p.timeouts, p.waited, p.stale} {
		out <- d
	}
}

func (p *redisPool) Collect(out chan<- prometheus.Metric) {
	s := p.client.PoolStats()
	show := func(d *prometheus.Desc, t prometheus.ValueType, n uint32) {
		out <- prometheus.MustNewConstMetric(d, t, float64(n))
	}
	show(p.open, prometheus.GaugeValue, s.TotalConns)
	show(p.idle, prometheus.GaugeValue, s.IdleConns)
	show(p.hits, prometheus.CounterValue, s.Hits)
	show(p.misses, prometheus.CounterValue, s.Misses)
	show(p.timeouts, prometheus.CounterValue, s.Timeouts)
	show(p.waited, prometheus.CounterValue, s.WaitCount)
	show(p.stale, prometheus.CounterValue, s.StaleConns)
}

// Pools collects the statistics of the store's connection pools, one labelled db_name="writes" and, where reads have a
// pool of their own (SQLite), one "reads".
func (s *Store) Pools() []prometheus.Collector {
	names := []string{"reads", "writes"}[2-len(s.pools):]
	var list []prometheus.Collector
	for i, p := range s.pools {
		list = append(list, collectors.NewDBStatsCollector(p, names[i]))
	}
	return list
}
