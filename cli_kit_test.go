package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/router"
)

// The recipe as printed: a server, users, the script; in lab mode and with tokens, a stage that holds and one that
// does not.
func TestKitAgainstTheService(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	vegeta := filepath.Join(t.TempDir(), "vegeta")
	built, err := exec.Command("go", "build", "-o", vegeta, "github.com/tsenart/vegeta/v12").CombinedOutput()
	require.NoError(t, err, "%s", built)
	secret := strings.Repeat("s", router.MinSecret)
	attack := func(kit string, args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), "loadtest/vegeta/attack.sh", append([]string{kit}, args...)...)
		cmd.Env = append(os.Environ(), "SECKILL="+program, "VEGETA="+vegeta)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, c := range []struct {
		name    string
		server  []string
		users   []string
		exit    int
		verdict string
	}{
		{"lab", nil, []string{"--stage=lua"}, 0, "ok"},
		{"lab, broken", []string{"--work=5ms"}, []string{"--stage=none"}, 1, "OVERSOLD "},
		{"tokens", []string{"--lab=off", "--token-secret=" + secret, "--stage=conditional"}, []string{"--token-secret=" + secret}, 0, "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kit := filepath.Join(t.TempDir(), "kit")
			url := labServer(t, c.server...)
			made := seckill(t, append([]string{"users", "--count=60", "--clicks=2", "--stock=20", "--target=" + url, "--out=" + kit}, c.users...)...)
			require.Zero(t, made.code, made.err)
			require.Contains(t, made.out, "60 users, 120 requests")

			code, out := attack(kit, "2000")
			require.Equal(t, c.exit, code, out)
			require.Contains(t, out, "verdict   "+c.verdict)
			require.Contains(t, out, "errors    0")
			b, err := os.ReadFile(filepath.Join(kit, "vegeta.json"))
			require.NoError(t, err)
			var report loadtest.Report
			require.NoError(t, json.Unmarshal(b, &report))
			row := report.Rows[0]
			require.Equal(t, 120, row.Requests)
			require.Equal(t, 60, row.Users)
			require.Equal(t, row.Orders, row.Accepted)

			code, out = attack(kit, "2000")
			require.Equal(t, exitUsage, code, "the voucher is sold already: %s", out)
		})
	}
}

func TestUsersRefusesWhatProvesNothing(t *testing.T) {
	url := labServer(t)
	kit := filepath.Join(t.TempDir(), "kit")
	for want, args := range map[string][]string{
		"20 users for 20 units":          {"--count=20", "--stock=20"},
		"either --voucher ID or":         {"--count=20"},
		"--voucher":                      {"--count=20", "--voucher=x"},
		"clicks":                         {"--count=20", "--stock=5", "--clicks=0"},
		"--first-user":                   {"--count=20", "--stock=5", "--first-user=0"},
		"nonsense":                       {"--count=20", "--stock=5", "--stage=nonsense"},
		"needs at least":                 {"--count=20", "--stock=5", "--token-secret=short"},
		"allowed are 1 to":               {"--stock=5", "--count=2000000"},
		"either --voucher ID or --stock": {"--count=9", "--stock=5", "--voucher=7"},
	} {
		refused := seckill(t, append([]string{"users", "--target=" + url, "--out=" + kit}, args...)...)
		require.Equal(t, exitUsage, refused.code, "%v: %s", args, refused.err)
		require.Contains(t, refused.err, want)
		require.NoFileExists(t, filepath.Join(kit, "kit.json"))
	}
	other := labServer(t)
	apart := seckill(t, "users", "--target="+url+","+other, "--out="+kit, "--count=9", "--stock=5")
	require.Equal(t, exitUsage, apart.code, apart.err)
	require.Contains(t, apart.err, other+" does not know the voucher")
	for _, line := range []string{"check", "report"} {
		none := seckill(t, "kit", line, filepath.Join(t.TempDir(), "none"))
		require.Equal(t, exitUsage, none.code, none.err)
		require.Contains(t, none.err, "kit.json: no such file")
	}
	lost := seckill(t, "users", "--target=http://127.0.0.1:1", "--out="+kit, "--count=9", "--stock=5")
	require.Equal(t, exitCannot, lost.code, lost.err)
}
