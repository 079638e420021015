package main

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const composeDir = "loadtest/compose"

// composeFile is as much of a compose file as the tests look at.
type composeFile struct {
	Services map[string]composeService
	Volumes  map[string]any
}

type composeService struct {
	Image       string
	Build       struct{ Context, Dockerfile string }
	Command     []string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Profiles    []string
	Restart     string
	DependsOn   map[string]struct {
		Condition string
		Required  *bool
	} `yaml:"depends_on"`
	Healthcheck struct {
		Test    []string
		Disable bool
	}
}

// readCompose reads docker-compose.yml as compose does, with the settings of an env file ("": none).
func readCompose(t *testing.T, envFile string) (composeFile, map[string]string) {
	t.Helper()
	settings := map[string]string{}
	if envFile != "" {
		for line := range strings.Lines(readText(t, filepath.Join(composeDir, envFile))) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
				settings[name] = value
			}
		}
	}
	text := regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`).ReplaceAllStringFunc(readText(t, "docker-compose.yml"), func(s string) string {
		name, fallback, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}"), ":-")
		if value := settings[name]; value != "" {
			return value
		}
		return fallback
	})
	require.NotContains(t, text, "${", "every setting has a default: docker compose up is enough")
	var c composeFile
	require.NoError(t, yaml.Unmarshal([]byte(text), &c))
	return c, settings
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// topologies are the ways to start the file, with the services that each adds.
var topologies = map[string][]string{
	"":             nil,
	"redlock.env":  {"redlock1", "redlock2", "redlock3"},
	"sentinel.env": {"redis-replica", "sentinel1", "sentinel2", "sentinel3"},
}

// started lists the services that run with the settings' profiles.
func (c composeFile) started(settings map[string]string) (names []string) {
	for name, s := range c.Services {
		if len(s.Profiles) == 0 || slices.Contains(s.Profiles, settings["COMPOSE_PROFILES"]) {
			names = append(names, name)
		}
	}
	return names
}

// Every command, flag, variable and value that compose hands to the program is one that the program takes.
func TestComposeStartsTheProgram(t *testing.T) {
	for envFile := range topologies {
		c, settings := readCompose(t, envFile)
		ours := 0
		for name, s := range c.Services {
			if s.Image != "seckill:local" {
				continue
			}
			ours++
			t.Run(envFile+"/"+name, func(t *testing.T) {
				require.Equal(t, databaseOf(c), s.Environment["SECKILL_DB"])
				serve := parseCommand(t, s.Command, s.Environment)
				if len(s.Healthcheck.Test) > 0 {
					health := parseCommand(t, s.Healthcheck.Test[2:], s.Environment)
					require.Equal(t, "health", health.Name())
				}
				if serve.Name() != "serve" {
					require.Equal(t, "migrate", serve.Name())
					require.Equal(t, "no", s.Restart, "a one-shot service")
					return
				}
				flags := &serveFlags{}
				again := &cobra.Command{Use: "serve"}
				flags.bind(again.Flags())
				require.NoError(t, again.Flags().Parse(s.Command[1:]))
				require.NoError(t, fromEnvironment(again.Flags(), lookup(s.Environment)))
				require.NoError(t, flags.validate())
				stage, err := flags.chosen()
				require.NoError(t, err)
				require.True(t, flags.labMode())
				for _, address := range append(list(flags.nodes), flags.redis) {
					requireServices(t, c, settings, address)
				}
				if stage.Lock == "redlock" {
					require.GreaterOrEqual(t, len(list(flags.nodes)), 3)
				}
			})
		}
		require.Equal(t, 4, ours, "three processes and migrate")
	}
}

// databaseOf is the address of the database that the file starts.
func databaseOf(c composeFile) string {
	e := c.Services["mysql"].Environment
	return fmt.Sprintf("mysql://%s:%s@mysql:3306/%s", e["MYSQL_USER"], e["MYSQL_PASSWORD"], e["MYSQL_DATABASE"])
}

// requireServices looks the hosts of a Redis address up among the services that run.
func requireServices(t *testing.T, c composeFile, settings map[string]string, address string) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	for _, host := range append(u.Query()["addr"], u.Host) {
		name, _, _ := strings.Cut(host, ":")
		require.Contains(t, c.started(settings), name)
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// parseCommand finds the command, parses its flags, and sets those of the environment. A SECKILL_ variable that no
// flag of the command answers to is a mistake, except for those that the image sets for another command.
func parseCommand(t *testing.T, args []string, env map[string]string) *cobra.Command {
	t.Helper()
	cmd, rest, err := newRoot(stdio{strings.NewReader(""), io.Discard, io.Discard}).Find(args)
	require.NoError(t, err)
	require.NotNil(t, cmd.RunE, "%v is no command", args)
	require.NoError(t, cmd.ParseFlags(rest))
	require.Empty(t, cmd.Flags().Args())
	require.NoError(t, fromEnvironment(cmd.Flags(), lookup(env)))
	if cmd.Name() == "health" {
		return cmd
	}
	for name := range env {
		known := false
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = known || envName(f.Name) == name })
		require.True(t, known, "%s: %s has no flag of that name", name, cmd.Name())
	}
	return cmd
}

func TestComposeTopologies(t *testing.T) {
	base, _ := readCompose(t, "")
	for envFile, added := range topologies {
		c, settings := readCompose(t, envFile)
		want := append(base.started(map[string]string{}), added...)
		require.ElementsMatch(t, want, c.started(settings), envFile)
		for name, s := range c.Services {
			for other, d := range s.DependsOn {
				require.Contains(t, c.Services, other, "%s depends on it", name)
				if slices.Contains(c.started(settings), other) || !slices.Contains(c.started(settings), name) {
					continue
				}
				require.NotNil(t, d.Required, "%s is not started, so %s can't require it", other, name)
				require.False(t, *d.Required)
			}
		}
	}
	conf := readText(t, composeDir+"/sentinel.conf")
	require.Contains(t, conf, "sentinel monitor seckill redis 6379 2")
	_, settings := readCompose(t, "sentinel.env")
	require.Contains(t, settings["SECKILL_REDIS"], "master_name=seckill")
	port := regexp.MustCompile(`(?m)^port (\d+)$`).FindStringSubmatch(conf)[1]
	require.Equal(t, 3, strings.Count(settings["SECKILL_REDIS"], ":"+port), "three sentinels on their port")
}

// What waits for a service's health needs a health check, ports are published on loopback alone, and every file that is
// mounted or built from is there.
func TestComposeIsComplete(t *testing.T) {
	c, _ := readCompose(t, "")
	published := map[string]string{}
	for name, s := range c.Services {
		if s.Restart != "no" {
			require.NotEmpty(t, s.Healthcheck.Test, name)
		}
		for other, d := range s.DependsOn {
			switch d.Condition {
			case "service_healthy":
				require.NotEmpty(t, c.Services[other].Healthcheck.Test, other)
			case "service_completed_successfully":
				require.Equal(t, "no", c.Services[other].Restart, other)
			default:
				t.Errorf("%s: condition %q", name, d.Condition)
			}
		}
		for _, p := range s.Ports {
			require.True(t, strings.HasPrefix(p, "127.0.0.1:"), "%s: lab mode trusts everybody who reaches %s", name, p)
			require.Empty(t, published[p[:strings.LastIndex(p, ":")]], "published twice")
			published[p[:strings.LastIndex(p, ":")]] = name
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if strings.HasPrefix(source, "./") {
				require.FileExists(t, firstFile(t, source))
			} else {
				require.Contains(t, slices.Collect(maps.Keys(c.Volumes)), source)
			}
		}
		if s.Build.Context != "" {
			require.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
		}
	}
	require.Equal(t, "balancer", published["127.0.0.1:8080"])
	for i := range 3 {
		require.Equal(t, fmt.Sprintf("app%d", i+1), published[fmt.Sprintf("127.0.0.1:%d", 8081+i)])
	}
}

// firstFile is the file itself, or some file in the folder.
func firstFile(t *testing.T, path string) string {
	t.Helper()
	found := ""
	require.NoError(t, filepath.Walk(path, func(p string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && found == "" {
			found = p
		}
		return err
	}))
	return found
}
