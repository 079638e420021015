// Command conformance scores every Redis lock of the ladder against the laws of locktest, on redis-servers that it
// starts, and prints the table as Markdown. It exits with 1 when a lock does not do as declared.
//
//	go run ./lock/locktest/conformance [lock …]
package main

import (
	"fmt"
	"os"
	"slices"

	"seckill/lock/locktest"
)

func main() {
	version, err := locktest.ServerVersion()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redis-server is not on PATH (Debian: apt-get install redis-server):", err)
		os.Exit(3)
	}
	entries := slices.DeleteFunc(locktest.Ladder(), func(e locktest.Entry) bool {
		return len(os.Args) > 1 && !slices.Contains(os.Args[1:], e.Name)
	})
	var scores [][]locktest.Result
	surprises := 0
	for _, e := range entries {
		score, err := locktest.Score(e.Open, e.Want, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		scores = append(scores, score)
		for _, r := range score {
			if _, declared := e.Want.Breaks[r.Law.Name]; r.Skip == "" && declared == (r.Err == nil) {
				surprises++
				fmt.Fprintf(os.Stderr, "%s: %s: declared broken: %v, found: %v\n", e.Name, r.Law.Name, declared, r.Err)
			}
		}
	}
	locktest.Markdown(os.Stdout, entries, scores)
	fmt.Printf("\n%s", version)
	if surprises > 0 {
		os.Exit(1)
	}
}
