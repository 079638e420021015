package locktest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Result is what one law said about one lock.
type Result struct {
	Law  Law
	Skip string // the reason why the law does not apply
	Err  error  // how it was broken; nil: kept
}

// Score runs every law that applies against a lock, on real servers that it starts and stops. progress is told each
// result; it may be nil.
func Score(open Open, want Want, progress func(Result)) ([]Result, error) {
	servers, err := start(want.nodes())
	defer stopAll(servers)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(laws))
	room := lawsAtATime(len(servers))
	var wg sync.WaitGroup
	for i, l := range laws {
		results[i] = Result{Law: l, Skip: want.Skips[l.Name]}
		if results[i].Skip != "" {
			continue
		}
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			results[i].Err = l.Try(open, servers)
			if progress != nil {
				progress(results[i])
			}
		})
	}
	wg.Wait()
	return results, nil
}

// lawsAtATime has room for so few laws that the machine is far from being the cause of anything.
func lawsAtATime(servers int) chan struct{} { return make(chan struct{}, max(1, 6/servers)) }

// Declared is what Score is expected to say.
func (e Entry) Declared() []Result {
	results := make([]Result, len(laws))
	for i, l := range laws {
		results[i] = Result{Law: l, Skip: e.Want.Skips[l.Name]}
		if reason, breaks := e.Want.Breaks[l.Name]; breaks {
			results[i].Err = errors.New(reason)
		}
	}
	return results
}

// Markdown writes the table of laws and locks, in Chinese for lang zh. The score of entries[i] is scores[i].
func Markdown(out io.Writer, lang string, entries []Entry, scores [][]Result) {
	fmt.Fprint(out, map[bool]string{false: "| law |", true: "| 规律 |"}[lang == "zh"])
	for _, e := range entries {
		fmt.Fprintf(out, " %s |", e.Name)
	}
	fmt.Fprint(out, "\n| --- |")
	for range entries {
		fmt.Fprint(out, " :-: |")
	}
	fmt.Fprintln(out)
	var heading Heading
	for i, l := range laws {
		if l.Heading != heading {
			heading = l.Heading
			fmt.Fprintf(out, "| **%s** |%s\n", in(lang, headingsZH[heading], string(heading)), strings.Repeat(" |", len(entries)))
		}
		fmt.Fprintf(out, "| %s |", in(lang, lawsZH[l.Name], l.Text))
		for j := range entries {
			fmt.Fprintf(out, " %s |", mark(scores[j][i]))
		}
		fmt.Fprintln(out)
	}
}

func mark(r Result) string {
	switch {
	case r.Skip != "":
		return "–"
	case r.Err != nil:
		return "✗"
	}
	return "✓"
}

func in(lang, zh, en string) string {
	if lang == "zh" {
		return zh
	}
	return en
}

// Where says on what a table was made, by what and when: the server's version, the machine, Go's version, the date and
// the commit. An error when no redis-server is on PATH.
func Where() (string, error) {
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("redis-server is not on PATH (Debian: apt-get install redis-server): %w", err)
	}
	_, version, _ := strings.Cut(string(out), "v=")
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("redis-server %s, %s/%s, %d CPUs, %s, %s, commit %s", version, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		runtime.Version(), time.Now().UTC().Format(time.DateOnly), commit()), nil
}

// commit is the revision of the folder that `go run` has just built, which does not put it into the program.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= with changes").Output()
	if err != nil {
		return "unknown" // no git, or no repository
	}
	return strings.TrimSpace(string(out))
}
