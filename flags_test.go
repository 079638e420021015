package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

func parsed(t *testing.T, line string) (*serveFlags, *pflag.FlagSet) {
	t.Helper()
	var s serveFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.bind(f)
	require.NoError(t, f.Parse(strings.Fields(line)))
	return &s, f
}

func TestFlagOverEnvironmentOverDefault(t *testing.T) {
	env := map[string]string{"SECKILL_STAGE": "lua", "SECKILL_REDLOCK_NODES": "", "SECKILL_LAB": "off"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	s, f := parsed(t, "")
	require.NoError(t, fromEnvironment(f, lookup))
	require.Equal(t, "lua", s.stage)
	require.False(t, s.labMode())
	require.Equal(t, "127.0.0.1:8080", s.addr)

	s, f = parsed(t, "--stage=mutex --lab")
	require.NoError(t, fromEnvironment(f, lookup))
	require.Equal(t, "mutex", s.stage)
	require.True(t, s.labMode())

	env["SECKILL_WORK"] = "soon"
	_, f = parsed(t, "")
	require.ErrorContains(t, fromEnvironment(f, lookup), `SECKILL_WORK="soon"`)
}

func TestLabIsOnOnlyWhereNothingOfOthersIsTouched(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "--redis=spawn --db=spawn": true, "--addr=localhost:1": true, "--addr=[::1]:1": true,
		"--addr=:8080": false, "--addr=0.0.0.0:80": false, "--redis=redis://127.0.0.1:1": false, "--db=mysql://u@h/d": false,
		"--addr=:8080 --lab": true, "--lab=off": false,
	} {
		s, _ := parsed(t, line)
		require.Equal(t, want, s.labMode(), line)
	}
}

func TestPartsOverrideTheStage(t *testing.T) {
	s, _ := parsed(t, "--stage=lua --lock=token --lock-key=user --stock-update=cas --unique --on-loss=stop --wait=-1s "+
		"--ttl=3s --cas-retries=4")
	got, err := s.chosen()
	require.NoError(t, err)
	require.Equal(t, service.Parts{
		Lock: "token", LockKey: "user", LockSpan: "around", OnLoss: "stop", StockUpdate: "cas", Unique: true, Path: "sync",
		Wait: -time.Second, TTL: 3 * time.Second, CASRetries: 4,
	}, got.Parts)
}

// What pflag reads out of a flag's text is not what a person reads: words between backquotes become the name of the
// value, and the default is put behind it already.
func TestFlagsSayWhatIsMeant(t *testing.T) {
	root := newRoot(stdio{strings.NewReader(""), io.Discard, io.Discard})
	seen := 0
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen++
			name := cmd.CommandPath() + " --" + f.Name
			require.NotEmpty(t, f.Usage, name)
			require.NotContains(t, f.Usage, "`", name)
			require.NotContains(t, f.Usage, "(default", name)
			require.NotContains(t, strings.TrimSuffix(f.Usage, "."), "\n", name)
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(root)
	require.Greater(t, seen, 100)
}
