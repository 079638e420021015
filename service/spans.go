package service

import (
	"strings"
	"sync"
	"time"

	"seckill/lock"
)

// DefaultSpans is how many ownerships a recorder keeps.
const DefaultSpans = 100_000

// Span is one ownership of a lock as this process saw it. The times are nanoseconds of the wall clock at the process's
// start plus the monotonic time since, so that spans of processes on one host can be compared; 0: not yet.
type Span struct {
	Process         string `json:"process"`
	Lock            string `json:"lock"`
	Key             string `json:"key"`
	Lease           uint64 `json:"lease"`
	AcquiredNS      int64  `json:"acquired_ns"`
	ReleaseCalledNS int64  `json:"release_called_ns"`
	RemoveNS        int64  `json:"remove_ns"` // just before the command that may have removed the key
	ReleasedNS      int64  `json:"released_ns"`
	Removed         bool   `json:"removed"` // that command did remove a key
	Lost            string `json:"lost"`    // why the lease ended without its owner's will
}

// Spans records ownerships in a ring: when it is full, the oldest is forgotten. Safe for concurrent use.
type Spans struct {
	process string
	start   time.Time
	max     int

	mu     sync.Mutex
	ring   []Span
	next   int // where the next span goes once the ring is full
	byKeys map[leaseKey]int
}

// leaseKey: numbers of ownerships are unique per lock.Client, so the lock's kind is part of the key.
type leaseKey struct {
	lock  string
	lease uint64
}

// NewSpans makes a recorder for the process of that name; size is DefaultSpans when it is not positive.
func NewSpans(process string, size int) *Spans {
	if size <= 0 {
		size = DefaultSpans
	}
	return &Spans{process: process, start: time.Now(), max: size, byKeys: map[leaseKey]int{}}
}

// Observer feeds the recorder.
func (s *Spans) Observer() lock.Observer {
	return lock.Observer{Acquired: s.acquired, Lost: s.lost, Released: s.released}
}

// Of lists the spans of a voucher's keys, in the order of acquisition.
func (s *Spans) Of(voucher ID) []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Span{}
	for i := range s.ring {
		if span := s.ring[(s.next+i)%len(s.ring)]; ofVoucher(span.Key, voucher) {
			out = append(out, span)
		}
	}
	return out
}

func ofVoucher(key string, voucher ID) bool {
	rest, ok := strings.CutPrefix(key, LockKey(KeyVoucher, voucher, 0, 0))
	return ok && (rest == "" || rest[0] == ':')
}

func (s *Spans) acquired(e lock.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	span := Span{Process: s.process, Lock: e.Lock, Key: e.Key, Lease: e.Lease, AcquiredNS: s.ns(e.At)}
	at := len(s.ring)
	if at < s.max {
		s.ring = append(s.ring, span)
	} else {
		at = s.next
		s.next = (s.next + 1) % s.max
		delete(s.byKeys, leaseKey{s.ring[at].Lock, s.ring[at].Lease})
		s.ring[at] = span
	}
	s.byKeys[leaseKey{e.Lock, e.Lease}] = at
}

func (s *Spans) lost(e lock.Event) {
	s.change(e, func(span *Span) {
		if e.Err != nil {
			span.Lost = e.Err.Error()
		}
	})
}

func (s *Spans) released(e lock.Event) {
	s.change(e, func(span *Span) {
		span.ReleaseCalledNS, span.RemoveNS, span.ReleasedNS = s.ns(e.CalledAt), s.ns(e.RemoveAt), s.ns(e.At)
		span.Removed = e.Removed
	})
}

func (s *Spans) change(e lock.Event, f func(*Span)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.byKeys[leaseKey{e.Lock, e.Lease}]; ok {
		f(&s.ring[at])
	}
}

// ns puts a time on the process's own axis; 0 stays 0.
func (s *Spans) ns(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return s.start.UnixNano() + t.Sub(s.start).Nanoseconds()
}
