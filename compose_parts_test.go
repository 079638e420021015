package main

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"seckill/router"
)

// appPort is where the processes of the compose file listen.
func appPort(t *testing.T, c composeFile) string {
	t.Helper()
	_, port, ok := strings.Cut(c.Services["app1"].Environment["SECKILL_ADDR"], ":")
	require.True(t, ok)
	for _, name := range []string{"app1", "app2", "app3"} {
		s := c.Services[name]
		require.Equal(t, "0.0.0.0:"+port, s.Environment["SECKILL_ADDR"], "loopback inside a container reaches nobody")
		require.Equal(t, name, s.Environment["SECKILL_PROCESS"])
		require.True(t, strings.HasSuffix(s.Ports[0], ":"+port))
	}
	return port
}

// paths of the HTTP interface.
func servedPaths(t *testing.T) []string {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(router.OpenAPI)
	require.NoError(t, err)
	return slices.Collect(maps.Keys(spec.Paths.Map()))
}

func TestDockerfile(t *testing.T) {
	c, _ := readCompose(t, "")
	text := readText(t, composeDir+"/Dockerfile")
	find := func(pattern string) string {
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		require.NotNil(t, m, pattern)
		return m[1]
	}
	program := find(`^COPY --from=build \S+ (\S+)$`)
	require.Equal(t, program, find(`^ENTRYPOINT \["([^"]+)"\]$`))
	health := strings.Split(find(`HEALTHCHECK .*CMD \[(.*)\]$`), ", ")
	require.Equal(t, []string{`"` + program + `"`, `"health"`}, health)
	require.Equal(t, []string{"CMD", program, "health"}, c.Services["app1"].Healthcheck.Test)
	env := map[string]string{"SECKILL_ADDR": find(`^ENV SECKILL_ADDR=(\S+)$`)}
	require.Equal(t, "serve", parseCommand(t, []string{find(`^CMD \["(\w+)"\]$`)}, env).Name())
	parseCommand(t, []string{"health"}, env)
	require.Equal(t, appPort(t, c), find(`^EXPOSE (\d+)$`))
	require.Equal(t, c.Services["app1"].Environment["SECKILL_ADDR"], env["SECKILL_ADDR"])
	require.Contains(t, text, "CGO_ENABLED=0", "a static program: the image has no C library")
	require.NotEqual(t, "root", find(`^USER (\w+)`))
	require.Contains(t, readText(t, "go.mod"), "\ngo "+find(`^FROM golang:([\d.]+) AS build$`)+".")
	// The stages of the build are named before they are copied from, and the build reads no file that is kept from it.
	for line := range strings.Lines(readText(t, composeDir+"/Dockerfile.dockerignore")) {
		line = strings.TrimSpace(line)
		require.NotContains(t, []string{"lock", "router", "service", "repository", "migrations", "loadtest", "go.mod"}, line)
	}
}

func TestBalancerAndScraperReachTheProcesses(t *testing.T) {
	c, _ := readCompose(t, "")
	port := appPort(t, c)
	apps := []string{"app1:" + port, "app2:" + port, "app3:" + port}

	conf := readText(t, composeDir+"/nginx.conf")
	var upstream []string
	for _, m := range regexp.MustCompile(`(?m)^\s*server (\S+) fail_timeout`).FindAllStringSubmatch(conf, -1) {
		upstream = append(upstream, m[1])
	}
	require.Equal(t, apps, upstream)
	listen := regexp.MustCompile(`listen (\d+)`).FindStringSubmatch(conf)[1]
	require.Equal(t, []string{"127.0.0.1:8080:" + listen}, c.Services["balancer"].Ports)
	require.Equal(t, strings.Count(conf, "{"), strings.Count(conf, "}"))
	requireProbe(t, c, "balancer", listen, servedPaths(t))

	var prometheus struct {
		ScrapeConfigs []struct {
			MetricsPath   string                       `yaml:"metrics_path"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readText(t, composeDir+"/prometheus.yml")), &prometheus))
	require.Len(t, prometheus.ScrapeConfigs, 1)
	require.Equal(t, apps, prometheus.ScrapeConfigs[0].StaticConfigs[0].Targets)
	require.Contains(t, servedPaths(t), prometheus.ScrapeConfigs[0].MetricsPath)
	requireProbe(t, c, "prometheus", "9090", []string{"/-/healthy"})
	requireProbe(t, c, "grafana", "3000", []string{"/api/health"})
}

// requireProbe checks that a service's health check asks its own published port for a path that there is.
func requireProbe(t *testing.T, c composeFile, name, port string, paths []string) {
	t.Helper()
	s := c.Services[name]
	require.True(t, strings.HasSuffix(s.Ports[0], ":"+port), name)
	u, err := url.Parse(s.Healthcheck.Test[len(s.Healthcheck.Test)-1])
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:"+port, u.Host)
	require.Contains(t, paths, u.Path)
}

func TestGrafanaFindsItsFiles(t *testing.T) {
	c, _ := readCompose(t, "")
	grafana := c.Services["grafana"]
	mounted := func(inside string) string {
		for _, v := range grafana.Volumes {
			parts := strings.Split(v, ":")
			if rest, ok := strings.CutPrefix(inside, parts[1]); ok {
				return parts[0] + rest
			}
		}
		t.Fatalf("%s is not mounted", inside)
		return ""
	}
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(readText(t, mounted("/etc/grafana/provisioning")+"/dashboards/seckill.yml")), &provider))
	home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.True(t, strings.HasPrefix(home, provider.Providers[0].Options.Path+"/"))
	require.FileExists(t, mounted(home))

	source := grafanaSource(t)
	u, err := url.Parse(source.URL)
	require.NoError(t, err)
	require.Contains(t, c.Services, u.Hostname())
	require.True(t, strings.HasSuffix(c.Services[u.Hostname()].Ports[0], fmt.Sprintf(":%s", u.Port())))
}

type dataSource struct{ UID, Type, URL string }

func grafanaSource(t *testing.T) dataSource {
	t.Helper()
	var sources struct{ Datasources []dataSource }
	require.NoError(t, yaml.Unmarshal([]byte(readText(t, composeDir+"/grafana/provisioning/datasources/prometheus.yml")), &sources))
	require.Len(t, sources.Datasources, 1)
	return sources.Datasources[0]
}
