// Command bench scores the locks that one deploys and their peer redsync against the laws of locktest, and measures an
// uncontended acquire and release of each beside the raw pair of commands, all in one run on redis-servers that it
// starts. It prints Markdown: quote it from a quiet machine. It is a module of its own, so that peers stay out of the
// project's dependencies. The other peer, rueidislock, is missing: its module could not be fetched when this was written.
//
//	cd lock/bench && go run . [-rounds N] [-laws table|count|no]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"seckill/lock"
	"seckill/lock/locktest"
)

func main() {
	rounds := flag.Int("rounds", 240, "rounds, each of 25 pairs of every lock")
	laws := flag.String("laws", "table", "also score the laws: table, count, or no")
	flag.Parse()
	if err := run(*rounds, *laws); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func run(rounds int, laws string) error {
	redis.SetLogger(&logging.VoidLogger{}) // the laws are about servers that don't answer
	where, err := locktest.Where()
	if err != nil {
		return err
	}
	servers, stop, err := locktest.Start(3)
	defer stop()
	if err != nil {
		return err
	}
	if err := speed(servers, rounds); err != nil {
		return err
	}
	if laws != "no" {
		fmt.Println()
		if err := score(laws); err != nil {
			return err
		}
	}
	fmt.Printf("\n%s. rueidislock was not measured: its module could not be fetched.\n", where)
	return nil
}

func speed(servers []*locktest.Server, rounds int) error {
	var r lock.Resources
	for _, s := range servers {
		rdb := s.Client()
		defer rdb.Close()
		r.Nodes = append(r.Nodes, rdb)
	}
	r.Redis = r.Nodes[0]
	pairs := []*pair{raw(r.Redis.(*redis.Client))}
	opens := []locktest.Entry{{Name: "redsync, 1 node", Open: openRedsync(1)}, {Name: "redsync, 3 nodes", Open: openRedsync(3)}}
	for _, kind := range []string{"redlock", "redislock", "fenced", "watchdog", "lua"} {
		opens = append([]locktest.Entry{{Name: kind, Open: locktest.Kind(kind)}}, opens...)
	}
	for _, e := range opens {
		o := lock.Options{Prefix: e.Name, TTL: 30 * time.Second, NodeTimeout: time.Second}
		if e.Name == "redlock" { // its release returns at a majority: once in a while the next acquire meets the rest of it
			o.Wait = time.Second
		}
		l, err := e.Open(r, o)
		if err != nil {
			return err
		}
		defer l.Close(context.Background())
		pairs = append(pairs, of(e.Name, l))
	}
	if err := measure(pairs, rounds); err != nil {
		return err
	}
	print(os.Stdout, pairs)
	return frozen(os.Stdout, servers, r, 500)
}

// score prints the table of laws, or how many each lock keeps.
func score(laws string) error {
	entries := []locktest.Entry{{Name: "redsync", Open: openRedsync(3), Want: locktest.Want{Nodes: 3}}}
	for _, e := range locktest.Ladder() {
		switch e.Name {
		case "watchdog", "fenced", "redlock", "redislock":
			entries = append(entries, e)
		}
	}
	var scores [][]locktest.Result
	for _, e := range entries {
		s, err := locktest.Score(e.Open, e.Want, nil)
		if err != nil {
			return err
		}
		scores = append(scores, s)
	}
	if laws == "count" {
		count(os.Stdout, entries, scores)
		return nil
	}
	locktest.Markdown(os.Stdout, "en", entries, scores)
	return nil
}

// count prints how many of the laws that apply to a lock it keeps.
func count(out io.Writer, entries []locktest.Entry, scores [][]locktest.Result) {
	names, kept := "| laws of lock/locktest |", "| kept, of those that apply |"
	for i, e := range entries {
		yes, all := 0, 0
		for _, r := range scores[i] {
			if r.Skip == "" {
				all++
			}
			if r.Skip == "" && r.Err == nil {
				yes++
			}
		}
		names += " " + e.Name + " |"
		kept += fmt.Sprintf(" %d of %d |", yes, all)
	}
	fmt.Fprintf(out, "%s\n| --- |%s\n%s\n", names, strings.Repeat(" --: |", len(entries)), kept)
}
