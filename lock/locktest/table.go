package locktest

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
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

// Markdown writes the table of laws and locks. The score of entries[i] is scores[i].
func Markdown(out io.Writer, entries []Entry, scores [][]Result) {
	fmt.Fprint(out, "| law |")
	for _, e := range entries {
		fmt.Fprintf(out, " %s |", e.Name)
	}
	fmt.Fprint(out, "\n|---|")
	for range entries {
		fmt.Fprint(out, ":-:|")
	}
	fmt.Fprintln(out)
	var heading Heading
	for i, l := range laws {
		if l.Heading != heading {
			heading = l.Heading
			fmt.Fprintf(out, "| **%s** |%s\n", heading, repeat(" |", len(entries)))
		}
		fmt.Fprintf(out, "| %s |", l.Text)
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

func repeat(s string, n int) (all string) {
	for range n {
		all += s
	}
	return all
}

// ServerVersion is what redis-server says of itself, or an error when there is none on PATH.
func ServerVersion() (string, error) {
	out, err := exec.Command("redis-server", "--version").Output()
	return string(out), err
}
