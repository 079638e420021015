package loadtest

import (
	"cmp"
	"math"
	"slices"
)

// Span is one ownership of a lock as a server recorded it. Times are nanoseconds since the epoch at the server's start
// plus its monotonic clock, comparable on one host; 0: has not happened.
type Span struct {
	Process         string `json:"process"`
	Lock            string `json:"lock"`
	Key             string `json:"key"`
	Lease           uint64 `json:"lease"`
	AcquiredNS      int64  `json:"acquired_ns"`       // the acquire was confirmed
	ReleaseCalledNS int64  `json:"release_called_ns"` // the holder let go
	RemoveNS        int64  `json:"remove_ns"`         // just before the command that may have removed the key
	ReleasedNS      int64  `json:"released_ns"`       // the release ended
	Removed         bool   `json:"removed"`           // it did remove a key
	Lost            string `json:"lost"`              // why the lease had ended before, if it had
}

func (s Span) open() bool { return s.ReleasedNS == 0 }

// heldUntil is when the holder stopped believing that it holds the lock.
func (s Span) heldUntil() int64 {
	for _, t := range []int64{s.ReleaseCalledNS, s.ReleasedNS} {
		if t != 0 {
			return t
		}
	}
	return math.MaxInt64
}

// keyUntil is how long the ownership may have had the key: to its own removal, or to the end of a release that never
// came to remove it.
func (s Span) keyUntil() int64 {
	for _, t := range []int64{s.RemoveNS, s.ReleasedNS} {
		if t != 0 {
			return t
		}
	}
	return math.MaxInt64
}

// maxHolders is the largest number of ownerships of one key that were held at one moment, 0 without any. An ownership
// that ends in the moment in which another begins does not overlap it.
func maxHolders(spans []Span) int {
	type edge struct {
		at   int64
		step int
	}
	edges := map[string][]edge{}
	for _, s := range spans {
		edges[s.Key] = append(edges[s.Key], edge{s.AcquiredNS, 1}, edge{s.heldUntil(), -1})
	}
	most := 0
	for _, of := range edges {
		slices.SortFunc(of, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
		holders := 0
		for _, e := range of {
			holders += e.step
			most = max(most, holders)
		}
	}
	return most
}

// foreignReleases counts the releases that removed a lock which by then was another holder's: between this ownership's
// acquire and its removal another one began that was still held at the removal. local: each process has its own lock.
// stopped names a process that stood still for a while, or none: it may read the answer to an acquire long after the
// lock was granted, and lapsed, so when its ownerships began is not known.
func foreignReleases(spans []Span, local bool, stopped string) int {
	byKey := map[string][]Span{}
	for _, s := range spans {
		key := s.Key
		if local {
			key = s.Process + " " + key
		}
		byKey[key] = append(byKey[key], s)
	}
	n := 0
	for _, of := range byKey {
		slices.SortFunc(of, func(a, b Span) int { return cmp.Compare(a.AcquiredNS, b.AcquiredNS) })
		for i, mine := range of {
			if mine.Removed && mine.RemoveNS > 0 && tookOver(of[i+1:], mine, stopped) {
				n++
			}
		}
	}
	return n
}

// tookOver looks for the other holder among the later ownerships, which are sorted by their acquire.
func tookOver(later []Span, mine Span, stopped string) bool {
	for _, other := range later {
		if other.AcquiredNS >= mine.RemoveNS {
			return false
		}
		if other.Process == stopped {
			continue
		}
		if other.AcquiredNS > mine.AcquiredNS && other.keyUntil() > mine.RemoveNS {
			return true
		}
	}
	return false
}
