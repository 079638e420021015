package main

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/lock/locktest"
)

var (
	measureFlag = flag.Bool("measure", false, "with -update: score and measure the locks anew; minutes, on a quiet machine")

	measured = regexp.MustCompile(`(?s)<!-- measured: (go .*?) -->\n(.*?)<!-- end -->`)
)

// TestREADME_Measured writes what the commands about the locks print, on demand alone: it takes minutes, and its figures
// are the machine's.
func TestREADME_Measured(t *testing.T) {
	if !*updateFlag || !*measureFlag {
		t.Skip("go test . -run README -update -measure")
	}
	known := map[string]string{}
	for _, name := range readmes {
		fresh := measured.ReplaceAllStringFunc(readFile(t, name), func(old string) string {
			command := measured.FindStringSubmatch(old)[1]
			if _, ran := known[command]; !ran {
				words := strings.Fields(command)
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				require.NoError(t, err, command)
				known[command] = string(out)
			}
			return "<!-- measured: " + command + " -->\n" + known[command] + "<!-- end -->"
		})
		require.NoError(t, os.WriteFile(name, []byte(fresh), 0o644))
	}
}

// What the tables must say is known without running anything: the locks' declarations, to which their own tests hold them.
func TestREADME_TheLocksAreAsDeclared(t *testing.T) {
	var scores [][]locktest.Result
	for _, e := range locktest.Ladder() {
		scores = append(scores, e.Declared())
	}
	for name, lang := range map[string]string{"README.md": "en", "README.zh-CN.md": "zh"} {
		blocks := measured.FindAllStringSubmatch(readFile(t, name), -1)
		require.Len(t, blocks, 2, name)
		var table strings.Builder
		locktest.Markdown(&table, lang, locktest.Ladder(), scores)
		require.Contains(t, blocks[0][2], table.String(), "%s: go test . -run README -update -measure", name)
		require.Regexp(t, `redis-server \d.*, \d+ CPUs, go.*, \d{4}-\d\d-\d\d`, blocks[0][2], name)
		for _, row := range []string{"raw SET NX", "lua", "watchdog", "fenced", "redlock", "redsync", "frozen", "kept"} {
			require.Contains(t, blocks[1][2], row, name)
		}
	}
}
