// Command conformance scores every Redis lock of the ladder against the laws of locktest, on redis-servers that it
// starts, and prints the table as Markdown. It takes a few minutes and exits with 1 when a lock does not do as
// declared, with 3 when it could not find out.
//
//	go run ./lock/locktest/conformance [-lang zh] [lock …]
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"seckill/lock/locktest"
)

func main() {
	lang := flag.String("lang", "en", "language of the table: en or zh")
	flag.Parse()
	redis.SetLogger(&logging.VoidLogger{}) // servers that don't answer are what this is about
	where, err := locktest.Where()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	entries := slices.DeleteFunc(locktest.Ladder(), func(e locktest.Entry) bool {
		return flag.NArg() > 0 && !slices.Contains(flag.Args(), e.Name)
	})
	if len(entries) == 0 {
		fmt.Fprintln(os.Stderr, "no lock of that name")
		os.Exit(2)
	}
	scores, surprises, err := score(entries)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	locktest.Markdown(os.Stdout, *lang, entries, scores)
	fmt.Printf("\n%s\n", where)
	if surprises > 0 {
		os.Exit(1)
	}
}

// score tries the locks one after the other and tells on the way what is not as declared.
func score(entries []locktest.Entry) (scores [][]locktest.Result, surprises int, err error) {
	for _, e := range entries {
		results, err := locktest.Score(e.Open, e.Want, nil)
		if err != nil {
			return nil, 0, err
		}
		scores = append(scores, results)
		for _, r := range results {
			if _, declared := e.Want.Breaks[r.Law.Name]; r.Skip == "" && declared == (r.Err == nil) {
				surprises++
				fmt.Fprintf(os.Stderr, "%s: %s: declared broken: %v, found: %v\n", e.Name, r.Law.Name, declared, r.Err)
			}
		}
	}
	return scores, surprises, nil
}
