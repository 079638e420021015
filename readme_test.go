package main

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

var (
	updateFlag  = flag.Bool("update", false, "write the outputs in the READMEs anew")
	compareFlag = flag.Bool("compare", false, "with -update: run the comparisons, too; minutes")

	// A block is a comment that names the command, the command's output, and an end mark.
	block      = regexp.MustCompile(`(?s)<!-- (output|compare): go run \. (.*?) -->\n(.*?)<!-- end -->`)
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	ourPath    = regexp.MustCompile(`^(?:(?:lock|service|repository|router|loadtest|migrations|\.ci|\.github)/[\w./-]*|[\w-]+\.(?:go|yml))$`)
)

var readmes = []string{"README.md", "README.zh-CN.md"}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// output is what the program prints to stdout. A comparison starts processes of its own program, so that it needs a real one.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if args[0] == "compare" && !slices.Contains(args, "--help") {
		cmd := exec.Command("go", append([]string{"run", "."}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Run(), errs.String())
		return out.String()
	}
	require.Zero(t, run(t.Context(), args, stdio{in: strings.NewReader(""), out: &out, err: &errs}), errs.String())
	return out.String()
}

// rendered is a block's content: Markdown as it is, anything else fenced.
func rendered(args []string, printed string) string {
	if slices.Contains(args, "markdown") || slices.Contains(args, "matrix") {
		return printed
	}
	return "```text\n" + strings.TrimRight(printed, "\n") + "\n```\n"
}

func TestREADME_OutputsAreTheProgramsOwn(t *testing.T) {
	known := map[string]string{} // both READMEs show the same run of a comparison
	for _, name := range readmes {
		text := readFile(t, name)
		fresh := block.ReplaceAllStringFunc(text, func(old string) string {
			m := block.FindStringSubmatch(old)
			if m[1] == "compare" && !*compareFlag {
				return old
			}
			args := strings.Fields(m[2])
			if _, ran := known[m[2]]; !ran {
				known[m[2]] = rendered(args, output(t, args...))
			}
			return "<!-- " + m[1] + ": go run . " + m[2] + " -->\n" + known[m[2]] + "<!-- end -->"
		})
		if *updateFlag {
			require.NoError(t, os.WriteFile(name, []byte(fresh), 0o644))
			continue
		}
		require.Equal(t, fresh, text, "%s is out of date: go test . -run README -update", name)
	}
}

// A comparison takes minutes, so that its table is checked for what can be known without running it.
func TestREADME_ComparisonsAreWholeAndAsClaimed(t *testing.T) {
	if *updateFlag {
		t.Skip("the tables are being written")
	}
	for _, name := range readmes {
		for _, m := range block.FindAllStringSubmatch(readFile(t, name), -1) {
			if m[1] != "compare" {
				continue
			}
			require.Contains(t, m[3], "each as its stage claims.", "%s: %s", name, m[2])
			require.NotContains(t, m[3], "INVALID", "%s: %s", name, m[2])
		}
	}
}

// commands lists what a reader is told to type, in order. The language of a text is the one thing in which the two
// READMEs may differ.
func commands(text string) []string {
	var found []string
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		found = append(found, "go run . "+strings.ReplaceAll(m[2], " --lang zh", ""))
	}
	text = block.ReplaceAllString(text, "")
	for _, m := range shellBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(m[1]) {
			if !strings.HasPrefix(line, "#") {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(shellBlock.ReplaceAllString(text, ""), -1) {
		if s := m[1]; strings.HasPrefix(s, "go ") || strings.HasPrefix(s, "seckill ") || strings.HasPrefix(s, ".ci/") {
			found = append(found, s)
		}
	}
	return found
}

func TestREADME_BothLanguagesNameTheSameCommands(t *testing.T) {
	english := commands(readFile(t, "README.md"))
	require.NotEmpty(t, english)
	require.Equal(t, english, commands(readFile(t, "README.zh-CN.md")))
}

func TestREADME_CommandsFlagsAndStagesExist(t *testing.T) {
	for _, command := range commands(readFile(t, "README.md")) {
		args, ours := strings.CutPrefix(command, "go run . ")
		if !ours {
			continue
		}
		words := strings.Fields(args)
		help := output(t, words[0], "--help")
		require.Contains(t, help, "seckill "+words[0], command)
		for i, word := range words {
			if strings.HasPrefix(word, "--") {
				require.Regexp(t, regexp.QuoteMeta(word)+`\b`, help, command)
			}
			if word == "--stages" || word == "--stage" {
				requireStages(t, words[i+1])
			}
		}
	}
}

func requireStages(t *testing.T, list string) {
	t.Helper()
	for name := range strings.SplitSeq(list, ",") {
		if name != "all" && !slices.Contains(service.Tracks(), name) {
			require.Contains(t, service.Names(), name)
		}
	}
}

func TestREADME_FilesExist(t *testing.T) {
	for _, name := range readmes {
		paths := map[string]bool{}
		for _, m := range codeSpan.FindAllStringSubmatch(readFile(t, name), -1) {
			if ourPath.MatchString(m[1]) {
				paths[m[1]] = true
			}
		}
		require.NotEmpty(t, paths)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			_, err := os.Stat(path)
			require.NoError(t, err, name)
		}
	}
}

// Each direct dependency has its reason, and nothing else is named as one.
func TestREADME_DependenciesAreThoseOfGoMod(t *testing.T) {
	var direct []string
	for line := range strings.Lines(readFile(t, "go.mod")) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.Contains(fields[0], "/") {
			direct = append(direct, fields[0])
		}
	}
	for _, name := range readmes {
		_, rest, ok := strings.Cut(readFile(t, name), "| --- | --- |\n| `github.com/gin-gonic/gin`")
		require.True(t, ok, "%s has a table of dependencies that begins with gin", name)
		table, _, _ := strings.Cut(rest, "\n\n")
		named := []string{"github.com/gin-gonic/gin"}
		for _, m := range codeSpan.FindAllStringSubmatch(table, -1) {
			named = append(named, m[1])
		}
		require.ElementsMatch(t, direct, named, name)
	}
}

// The HTTP overview is complete: every error code of the one table, and every route.
func TestREADME_CodesAndRoutesAreTheRouters(t *testing.T) {
	codes := regexp.MustCompile(`http\.Status\w+, "(\w+)"`).FindAllStringSubmatch(readFile(t, "router/errors.go"), -1)
	require.NotEmpty(t, codes)
	routes := regexp.MustCompile(`v1\.(GET|POST)\("([^"]+)"`).FindAllStringSubmatch(readFile(t, "router/router.go"), -1)
	require.NotEmpty(t, routes)
	for _, name := range readmes {
		text := readFile(t, name)
		for _, m := range codes {
			require.Contains(t, text, "`"+m[1]+"`", name)
		}
		for _, m := range routes {
			require.Contains(t, text, "`"+m[1]+" /api/v1"+strings.ReplaceAll(m[2], ":id", "{id}")+"`", name)
		}
	}
}

// Who wants to change how the tests run finds the variables.
func TestREADME_NamesTheVariablesOfTheTests(t *testing.T) {
	named := regexp.MustCompile(`(?m)^(?:const )?\s*\w+\s*= "(SECKILL_[A-Z_]+)"`)
	found := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "*/*/*_test.go", "repository/backend/backendtest/*.go", "lock/locktest/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			for _, m := range named.FindAllStringSubmatch(readFile(t, file), -1) {
				found[m[1]] = true
			}
		}
	}
	require.Greater(t, len(found), 4)
	for name := range found {
		for _, readme := range readmes {
			require.True(t, strings.Contains(readFile(t, readme), "`"+name), "%s does not name %s", readme, name)
		}
	}
}

// Whoever starts the compose file finds what it publishes.
func TestREADME_NamesThePortsOfCompose(t *testing.T) {
	c, _ := readCompose(t, "")
	for name, s := range c.Services {
		for _, p := range s.Ports {
			for _, readme := range readmes {
				address := p[:strings.LastIndex(p, ":")]
				require.True(t, strings.Contains(readFile(t, readme), address), "%s: %s, of %s, is missing", readme, address, name)
			}
		}
	}
}
