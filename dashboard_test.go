package main

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/router"
	"seckill/service"
)

// contractMetrics are the names that others rely on.
var contractMetrics = []string{
	"seckill_orders_total", "seckill_order_duration_seconds", "seckill_lock_wait_seconds", "seckill_lock_hold_seconds",
	"seckill_lock_lost_total", "seckill_stream_pending", "seckill_stream_age_seconds",
}

// exposed scrapes a server's metrics in which everything has happened once, as series name -> labels.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	dsn := backendtest.SQLite(t)
	_, err := repository.Migrate(t.Context(), dsn)
	require.NoError(t, err)
	store, err := repository.Open(t.Context(), dsn, repository.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	now := time.Now().UTC().Truncate(time.Second)
	require.NoError(t, store.CreateVoucher(t.Context(), service.Voucher{
		ID: 7, Title: "t", Stock: 3, BeginAt: now, EndAt: now.Add(time.Hour), CreatedAt: now,
	}))
	o, err := redis.ParseURL(backendtest.EmbeddedRedis(t, 1).URLs[0])
	require.NoError(t, err)
	rdb := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })

	m := openMetrics(store, rdb, 1)
	m.Order("lua", "created", time.Millisecond)
	e := lock.Event{Lock: "lua"}
	obs := m.Observer()
	for _, f := range []func(lock.Event){obs.Waited, obs.Renewed, obs.Lost, obs.Released} {
		f(e)
	}
	return series(t, m)
}

func series(t *testing.T, m *router.Metrics) map[string][]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	got := map[string][]string{}
	for name, f := range families {
		labels := []string{"instance", "job"} // which Prometheus adds
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		got[name] = labels
		if f.GetType() == dto.MetricType_HISTOGRAM {
			got[name+"_bucket"] = append(slices.Clone(labels), "le")
			got[name+"_sum"], got[name+"_count"] = labels, labels
		}
	}
	return got
}

func TestMetricsKeepTheirNames(t *testing.T) {
	got := exposed(t)
	for _, name := range contractMetrics {
		require.Contains(t, got, name)
	}
	require.Subset(t, got["seckill_orders_total"], []string{"stage", "outcome"})
	require.Subset(t, got["seckill_lock_lost_total"], []string{"cause"})
	for name, labels := range got {
		require.NotSubset(t, labels, []string{"user"}, name)
		require.NotSubset(t, labels, []string{"order"}, name)
	}
}

// Every query of the dashboard parses, and asks for series and labels that a server exposes.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	got := exposed(t)
	var dashboard struct {
		Panels []struct {
			Title      string
			Datasource dataSource
			Targets    []struct {
				Expr, LegendFormat string
				Datasource         dataSource
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(readText(t, composeDir+"/grafana/dashboards/seckill.json")), &dashboard))
	used := map[string]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			require.Equal(t, grafanaSource(t).UID, target.Datasource.UID, p.Title)
			require.Equal(t, grafanaSource(t).Type, target.Datasource.Type, p.Title)
			query := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			require.NotContains(t, query, "$", p.Title)
			for name, labels := range asked(t, query) {
				require.Contains(t, got, name, "%s: %s", p.Title, query)
				require.Subset(t, got[name], labels, "%s: %s", p.Title, query)
				used[strings.TrimSuffix(name, "_bucket")] = true
				if legend := strings.Split(target.LegendFormat, "{{"); len(legend) > 1 {
					for _, l := range legend[1:] {
						require.Contains(t, got[name], strings.Split(l, "}}")[0], "%s: legend", p.Title)
					}
				}
			}
		}
	}
	for _, name := range append(contractMetrics, "seckill_voucher_oversold", "seckill_voucher_stock_left") {
		require.True(t, used[name], "the dashboard does not show %s", name)
	}
}

// asked parses a query and lists the series it reads, with the labels that it selects or groups by.
func asked(t *testing.T, query string) map[string][]string {
	t.Helper()
	e, err := metricsql.Parse(query)
	require.NoError(t, err, query)
	var names, labels []string
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				for _, f := range filters {
					if f.Label == "__name__" {
						names = append(names, f.Value)
					} else {
						labels = append(labels, f.Label)
					}
				}
			}
		case *metricsql.AggrFuncExpr:
			labels = append(labels, e.Modifier.Args...)
		}
	})
	require.NotEmpty(t, names, query)
	out := map[string][]string{}
	for _, n := range names {
		out[n] = labels
	}
	return out
}
