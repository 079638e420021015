package loadtest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// held is an ownership of key k in process p from a to r, whose release removed a key or not.
func held(p string, a, r int64, removed bool) Span {
	return Span{Process: p, Key: "k", AcquiredNS: a, ReleaseCalledNS: r, RemoveNS: r, ReleasedNS: r + 1, Removed: removed}
}

func TestForeignReleases(t *testing.T) {
	cases := []struct {
		name  string
		spans []Span
		local bool
		want  int
	}{
		{"one after the other", []Span{held("p1", 1, 5, true), held("p2", 6, 9, true)}, false, 0},
		{"late holder removes the next one's lock", []Span{held("p1", 1, 8, true), held("p2", 5, 12, false)}, false, 1},
		{"late holder is refused", []Span{held("p1", 1, 8, false), held("p2", 5, 12, true)}, false, 0},
		{"the other one had already left", []Span{held("p1", 1, 9, true), held("p2", 3, 6, true)}, false, 0},
		{"the other one is still open", []Span{held("p1", 1, 8, true), {Process: "p2", Key: "k", AcquiredNS: 5}}, false, 1},
		{"the other one gave up without a command", []Span{held("p1", 1, 8, true),
			{Process: "p2", Key: "k", AcquiredNS: 3, ReleaseCalledNS: 5, ReleasedNS: 6}}, false, 0},
		{"another key", []Span{held("p1", 1, 8, true), {Process: "p2", Key: "other", AcquiredNS: 5}}, false, 0},
		{"mutexes of two processes", []Span{held("p1", 1, 8, true), held("p2", 5, 12, true)}, true, 0},
		{"taken in the very moment of the removal", []Span{held("p1", 1, 8, true), held("p2", 8, 12, true)}, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, foreignReleases(c.spans, c.local, "")) })
	}
}

// p1 stood still and read at 5 that it had got the lock, which had lapsed before p2 got it at 1.
func TestAcquireOfAStoppedProcessIsNoProofOfAForeignRelease(t *testing.T) {
	spans := []Span{held("p2", 1, 8, true), held("p1", 5, 12, false)}
	require.Zero(t, foreignReleases(spans, false, "p1"))
	require.Equal(t, 1, foreignReleases(spans, false, "p2"), "its own releases still count")
}

func TestMaxHolders(t *testing.T) {
	require.Zero(t, maxHolders(nil))
	require.Equal(t, 1, maxHolders([]Span{held("p1", 1, 5, true), held("p2", 5, 9, true)}), "hand-over in one moment")
	require.Equal(t, 2, maxHolders([]Span{held("p1", 1, 6, true), held("p2", 5, 9, true)}))
	require.Equal(t, 2, maxHolders([]Span{{Key: "k", AcquiredNS: 1}, {Key: "k", AcquiredNS: 100}}), "open to the end")
	require.Equal(t, 1, maxHolders([]Span{{Key: "a", AcquiredNS: 1}, {Key: "b", AcquiredNS: 1}}), "two keys")
}

// An exclusive history, however its ownerships are cut, has one holder and no foreign release.
func TestExclusiveHistoryIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []Span
		now := int64(1)
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			step := func(name string) int64 { now += rapid.Int64Range(1, 9).Draw(t, name); return now }
			s := Span{Process: rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "p"), Key: "k", AcquiredNS: step("acquired")}
			s.ReleaseCalledNS, s.RemoveNS, s.ReleasedNS, s.Removed = step("called"), step("remove"), step("released"), true
			spans = append(spans, s)
		}
		spans = rapid.Permutation(spans).Draw(t, "order")
		require.Equal(t, 1, maxHolders(spans))
		require.Zero(t, foreignReleases(spans, false, ""))
	})
}

// maxHolders equals the plain definition: the most ownerships that contain one of the acquire moments.
func TestMaxHoldersLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []Span
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			from := rapid.Int64Range(1, 20).Draw(t, "from")
			spans = append(spans, held("p", from, from+rapid.Int64Range(1, 9).Draw(t, "len"), true))
		}
		most := 0
		for _, at := range spans {
			n := 0
			for _, s := range spans {
				if s.AcquiredNS <= at.AcquiredNS && at.AcquiredNS < s.heldUntil() {
					n++
				}
			}
			most = max(most, n)
		}
		require.Equal(t, most, maxHolders(spans))
	})
}
