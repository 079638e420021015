package service

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
)

func TestSpans_RecordAnOwnership(t *testing.T) {
	s := NewSpans("p1", 0)
	o := s.Observer()
	at := func(ms int) time.Time { return s.start.Add(time.Duration(ms) * time.Millisecond) }
	ns := func(ms int) int64 { return s.start.UnixNano() + int64(ms)*1e6 }
	o.Acquired(lock.Event{Lock: "lua", Key: "voucher:1", Lease: 7, At: at(1)})
	require.Equal(t, []Span{{Process: "p1", Lock: "lua", Key: "voucher:1", Lease: 7, AcquiredNS: ns(1)}}, s.Of(1))
	o.Lost(lock.Event{Lock: "lua", Key: "voucher:1", Lease: 7, At: at(2), Err: errors.New("gone")})
	o.Released(lock.Event{Lock: "lua", Key: "voucher:1", Lease: 7, CalledAt: at(3), RemoveAt: at(4), At: at(5), Removed: true})
	require.Equal(t, []Span{{
		Process: "p1", Lock: "lua", Key: "voucher:1", Lease: 7, AcquiredNS: ns(1),
		ReleaseCalledNS: ns(3), RemoveNS: ns(4), ReleasedNS: ns(5), Removed: true, Lost: "gone",
	}}, s.Of(1))
}

func TestSpans_ChooseTheVoucher(t *testing.T) {
	s := NewSpans("p", 0)
	for i, key := range []string{"voucher:1", "voucher:1:user:5", "voucher:12", "voucher:12:user:1", "LOCK:PHONE"} {
		s.acquired(lock.Event{Key: key, Lease: uint64(i + 1), At: time.Now()})
	}
	require.Len(t, s.Of(1), 2)
	require.Len(t, s.Of(12), 2)
	require.Equal(t, []Span{}, s.Of(2), "an empty list is a list in JSON too")
}

func TestSpans_ForgetTheOldest(t *testing.T) {
	s := NewSpans("p", 3)
	for i := range 5 {
		s.acquired(lock.Event{Key: "voucher:1", Lease: uint64(i + 1), At: time.Now()})
	}
	s.released(lock.Event{Lease: 1, At: time.Now(), Removed: true}) // forgotten: nothing to change
	s.released(lock.Event{Lease: 4, At: time.Now(), Removed: true})
	var leases []uint64
	for _, span := range s.Of(1) {
		leases = append(leases, span.Lease)
		require.Equal(t, span.Lease == 4, span.Removed)
	}
	require.Equal(t, []uint64{3, 4, 5}, leases)
	require.Len(t, s.byKeys, 3)
}
