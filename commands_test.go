package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/service"
)

// Whatever compare can measure, the commands in its rows start and send the same: they parse, and say what the plan says.
func TestRowsCarryCommandsThatRun(t *testing.T) {
	engines := &engineFlags{redis: spawn, db: "mysql://u:secret@h:1/d"}
	config := loadtest.Config{Stages: measurable(service.Ladder(), ""), Engines: engines.again()}
	for _, s := range service.Ladder() {
		config.Picks = append(config.Picks, loadtest.Pick{Stage: s.Name, Scenarios: service.Scenarios()})
	}
	plans, err := config.Plans()
	require.NoError(t, err)
	require.Len(t, plans, len(service.Ladder())*len(service.Scenarios()))
	for _, p := range plans {
		c := p.Commands()
		require.NotContains(t, c.Servers, "secret")
		require.Contains(t, c.Servers, `--db="$SECKILL_DB"`)

		f := &fleetFlags{}
		again := &cobra.Command{}
		f.bind(again.Flags())
		require.NoError(t, again.Flags().Parse(argumentsOf(t, strings.ReplaceAll(c.Servers, `"$SECKILL_DB"`, "embedded"), "fleet")))
		require.NoError(t, f.validate())
		require.Equal(t, spawn, f.redis)
		got := f.spec
		got.Wait = *f.wait.d
		if f.ttl.d != nil {
			got.TTL = *f.ttl.d
		}
		require.Equal(t, loadtest.Spec{
			Stage: p.Stage.Name, Processes: p.Processes, Work: p.Work, TTL: p.TTL, Wait: p.Wait, Nested: p.Scenario.Nested, Holds: p.Holds,
		}, got)

		u := &usersFlags{}
		again = &cobra.Command{}
		u.bind(again.Flags())
		require.NoError(t, again.Flags().Parse(argumentsOf(t, c.Users, "users")))
		require.Equal(t, []int{p.Users, p.Clicks, p.Stock}, []int{u.kit.Users, u.kit.Clicks, u.stock})
		require.Len(t, list(u.targets), p.Processes)
		require.Contains(t, u.targets, "http://127.0.0.1:8081")
		require.Equal(t, 8081, f.port)
		for _, command := range []string{c.Vegeta, c.K6} {
			require.FileExists(t, fileIn(t, command, "loadtest/"))
			require.Contains(t, command, u.out)
		}
	}
}

// argumentsOf splits a command line of this program, without its first words.
func argumentsOf(t *testing.T, line, name string) []string {
	t.Helper()
	words := strings.Fields(line)
	require.Equal(t, []string{"go", "run", ".", name}, words[:4])
	return words[4:]
}

func fileIn(t *testing.T, line, prefix string) string {
	t.Helper()
	for _, word := range strings.Fields(line) {
		if strings.HasPrefix(word, prefix) {
			return word
		}
	}
	t.Fatalf("%q names no file in %s", line, prefix)
	return ""
}

// fleet starts servers that share everything, says where they are, and ends with its context.
func TestFleetServesOneSale(t *testing.T) {
	line := runUntilEnd(t, "fleet", "--processes=2", "--port=0", "--stage=conditional")
	urls := strings.Split(strings.TrimSpace(line), ",")
	require.Len(t, urls, 2)
	first, second := newContract(t, urls[0]), newContract(t, urls[1])
	v := first.voucher(1, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	second.ask(201, "POST", v+"/orders", "", "X-User-ID", "1")
	first.ask(409, "POST", v+"/orders", "", "X-User-ID", "2")
}
