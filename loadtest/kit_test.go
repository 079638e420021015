package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func labUser(user int64) (map[string]string, error) {
	return map[string]string{"X-User-ID": fmt.Sprint(user)}, nil
}

func kitFor(targets ...string) Kit {
	return Kit{Voucher: "77", InitialStock: 10, Users: 30, Clicks: 2, Targets: targets}
}

func TestKitFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "kit")
	k := kitFor("http://a:1", "http://b:2")
	k.Stage = "lua"
	require.NoError(t, WriteKit(dir, k, 1001, labUser))

	back, err := ReadKit(dir)
	require.NoError(t, err)
	require.Equal(t, 60, back.Requests)
	var users []map[string]string
	b, err := os.ReadFile(filepath.Join(dir, usersFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &users))
	require.Len(t, users, 30)
	require.Equal(t, map[string]string{"X-User-ID": "1001"}, users[0])

	b, err = os.ReadFile(filepath.Join(dir, targetsFile))
	require.NoError(t, err)
	require.Equal(t, 60, bytes.Count(b, []byte("\n")), "one request a line: attack.sh counts with head")
	next := vegeta.NewJSONTargeter(bytes.NewReader(b), nil, nil)
	for i := range 60 {
		var got vegeta.Target
		require.NoError(t, next(&got))
		require.Equal(t, "POST", got.Method)
		user := 1001 + i/2
		host := []string{"a:1", "b:2"}[(i/2+i)%2]
		require.Equal(t, fmt.Sprintf("http://%s/api/v1/vouchers/77/orders?click=%d.%d&stage=lua", host, user, i%2+1), got.URL)
		require.Equal(t, fmt.Sprint(user), got.Header.Get("X-User-ID"))
	}
	for _, name := range []string{kitFile, usersFile, targetsFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s holds credentials", name)
	}
}

// S-67 and S-68, and a demand that can't show an oversell.
func TestKitPreflight(t *testing.T) {
	write := func(t *testing.T, change func(*Kit), identify Identify) (string, error) {
		dir := t.TempDir()
		k := kitFor("http://a:1")
		change(&k)
		return dir, WriteKit(dir, k, 1, identify)
	}
	nothing := func(*Kit) {}

	dir, err := write(t, nothing, labUser)
	require.NoError(t, err)
	_, n, err := CheckKit(dir, 0)
	require.NoError(t, err)
	require.Equal(t, 60, n)
	_, n, err = CheckKit(dir, 22)
	require.NoError(t, err)
	require.Equal(t, 22, n)
	_, _, err = CheckKit(dir, 61)
	require.ErrorIs(t, err, ErrKit)
	require.ErrorContains(t, err, "61 requests but 60 targets")
	_, _, err = CheckKit(dir, 20) // two clicks each: ten users for ten units
	require.ErrorIs(t, err, ErrKit)
	require.ErrorContains(t, err, "10 distinct users for 10 units")

	dir, err = write(t, nothing, func(int64) (map[string]string, error) { return map[string]string{"Authorization": "Bearer x"}, nil })
	require.NoError(t, err)
	_, _, err = CheckKit(dir, 0)
	require.ErrorIs(t, err, ErrKit)
	require.ErrorContains(t, err, "the same user")

	for name, change := range map[string]func(*Kit){
		"users = stock": func(k *Kit) { k.InitialStock = 30 },
		"no users":      func(k *Kit) { k.Users = 0 },
		"no clicks":     func(k *Kit) { k.Clicks = 0 },
		"no servers":    func(k *Kit) { k.Targets = nil },
	} {
		_, err := write(t, change, labUser)
		require.ErrorIs(t, err, ErrKit, name)
	}
}

func TestKitLooksAtTheVoucher(t *testing.T) {
	s := &shop{}
	crew := startShop(t, s, 1)
	k := kitFor(crew.URLs()...)
	require.NoError(t, k.CreateVoucher(t.Context(), 25))
	require.Equal(t, "77", k.Voucher)
	k.InitialStock = 0
	require.NoError(t, k.Look(t.Context()))
	require.Equal(t, 25, k.InitialStock, "the service's own number counts")
	s.sell(1)
	require.ErrorIs(t, k.Look(t.Context()), ErrKit)
}

// A server that sells on a database of its own, or that does not answer, would make errors of all its requests.
func TestKitLooksAtEveryTarget(t *testing.T) {
	crew := startShop(t, &shop{strange: true}, 2)
	k := kitFor(crew.URLs()...)
	require.NoError(t, k.CreateVoucher(t.Context(), 5))
	err := k.Look(t.Context())
	require.ErrorIs(t, err, ErrKit)
	require.ErrorContains(t, err, crew.URLs()[1]+" does not know the voucher")

	k.Targets[1] = "http://127.0.0.1:1"
	err = k.Look(t.Context())
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotErrorIs(t, err, ErrKit)
}

func startShop(t *testing.T, s *shop, processes int) Crew {
	t.Helper()
	crew, err := s.Start(context.Background(), Spec{Processes: processes})
	require.NoError(t, err)
	t.Cleanup(crew.Stop)
	return crew
}

// The vegeta program itself sends the kit, as attack.sh has it do.
func TestVegetaProgramSendsKit(t *testing.T) {
	program := buildVegeta(t)
	for _, c := range []struct {
		name     string
		shop     *shop
		verdict  string
		claimed  bool
		accepted int
	}{
		{"right", &shop{}, "ok", true, 10},
		{"oversold", &shop{oversell: 7}, "OVERSOLD 7", false, 17},
		{"broken", &shop{breakDown: 10}, "INVALID: 6 of 60 requests failed: 500 internal (6 times)", false, 10},
		{"nothing sold", &shop{refuse: true}, "INVALID: nothing was sold", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			crew := startShop(t, c.shop, 2)
			k := kitFor(crew.URLs()...)
			require.NoError(t, k.CreateVoucher(t.Context(), 10))
			dir := t.TempDir()
			require.NoError(t, WriteKit(dir, k, 1, labUser))

			report := sendWithVegeta(t, program, dir)
			require.Len(t, report.Rows, 1)
			row := report.Rows[0]
			require.Equal(t, c.verdict, row.Verdict)
			require.Equal(t, c.claimed, row.AsClaimed)
			require.Equal(t, 60, row.Requests, "every target once, none twice")
			require.Equal(t, c.accepted, row.Accepted)
			refused := row.Rejected.SoldOut + row.Rejected.AlreadyOrdered + row.Rejected.Busy
			require.Equal(t, 60, row.Accepted+refused+row.Errors, "409 and 503 are answers")
			text := row.Summary()
			for _, word := range []string{"accepted", "rejected", "errors", "audit", c.verdict} {
				require.Contains(t, text, word)
			}
		})
	}
}

func sendWithVegeta(t *testing.T, program, dir string) Report {
	t.Helper()
	k, _, err := CheckKit(dir, 0)
	require.NoError(t, err)
	targets, err := os.Open(filepath.Join(dir, targetsFile))
	require.NoError(t, err)
	defer targets.Close()
	var results, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "attack", "-lazy", "-format=json", "-rate=2000", "-duration=0", "-timeout=60s")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = targets, &results, &problems
	require.NoError(t, cmd.Run(), "%s", &problems)
	report, err := KitReport(t.Context(), Env{}, k, &results)
	require.NoError(t, err)
	return report
}

func buildVegeta(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "vegeta")
	out, err := exec.Command("go", "build", "-o", program, "github.com/tsenart/vegeta/v12").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The script must use the flags that the test above has shown to send every target once.
func TestVegetaScript(t *testing.T) {
	script, err := os.ReadFile("vegeta/attack.sh")
	require.NoError(t, err)
	for _, flag := range []string{"-lazy", "-format=json", "-duration=0"} {
		require.Contains(t, string(script), flag)
	}
	out, err := exec.Command("sh", "-n", "vegeta/attack.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.True(t, strings.HasPrefix(string(script), "#!/bin/sh\n"))
	for _, args := range [][]string{{"fast"}, {"-5"}, {""}, {"500", "many"}} {
		cmd := exec.Command("vegeta/attack.sh", append([]string{t.TempDir()}, args...)...)
		cmd.Env = append(os.Environ(), "SECKILL=false", "VEGETA=false")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%q: %s", args, out)
		require.Contains(t, string(out), "must be a whole number")
		require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	}
}
