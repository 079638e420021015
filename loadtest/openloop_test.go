package loadtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"pgregory.net/rapid"
)

// S-69: one worker that waits for a slow server can't send the requests whose turn comes meanwhile. They are shown, and
// what was not asked for is not judged.
func TestOpenLoadShowsWhatItDropped(t *testing.T) {
	p := sale(Claim{})
	p.Workers, p.Rate, p.Processes = 1, 1000, 1
	r := run(t, &shop{slow: 400 * ms}, p)
	require.Positive(t, r.Dropped)
	require.Positive(t, r.Requests)
	require.Equal(t, 120, r.Requests+r.Dropped)
	require.NotContains(t, r.Judged, Oversold, "too few asked")
	require.Contains(t, r.Note, "of 120 requests were dropped: all 1 workers were waiting")
	require.Equal(t, StatusRan, r.Status, r.Verdict)
	last := r.Series[len(r.Series)-1]
	require.Equal(t, r.Dropped, last.Dropped)
	require.Equal(t, 1000, r.Rate)
}

func TestOpenLoadKeepsItsRate(t *testing.T) {
	p := sale(Claim{})
	p.Workers, p.Rate = 64, 400
	began := time.Now()
	r := run(t, &shop{}, p)
	require.GreaterOrEqual(t, time.Since(began), 300*ms, "120 requests at 400 a second")
	require.LessOrEqual(t, r.RPS, 420.0)
	require.Equal(t, 120, r.Requests+r.Dropped)
}

// Whatever is reserved, dropped and handed out in whatever order: the clicks keep theirs, each has one fate, and exactly
// those are dropped whose turn it was.
func TestDroppedClicksAreThoseWhoseTurnItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "clicks")
		source := &targeter{voucher: "5", urls: []string{"http://a"}, dead: func(int) bool { return false }}
		for i := range n {
			source.left = append(source.left, click{user: int64(i + 1)})
		}
		var sent, want []string
		turn, reserved := 0, 0
		for turn < n || reserved > 0 {
			switch step := rapid.SampledFrom([]string{"reserve", "drop", "send"}).Draw(t, "step"); {
			case step == "reserve" && turn < n:
				want = append(want, click{user: int64(turn + 1)}.id())
				source.reserve()
				turn, reserved = turn+1, reserved+1
			case step == "drop" && turn < n:
				source.drop()
				turn++
			case step == "send" && reserved > 0:
				var tgt vegeta.Target
				require.NoError(t, source.next(&tgt))
				sent = append(sent, tgt.URL[len("http://a/api/v1/vouchers/5/orders?click="):])
				reserved--
			}
			require.Equal(t, n-turn, source.waiting())
		}
		require.Equal(t, want, sent)
		require.ErrorIs(t, source.next(&vegeta.Target{}), vegeta.ErrNoTargets)
	})
}

func TestWarmUpIsNotCounted(t *testing.T) {
	p := sale(Claim{})
	p.Warmup = 150 * ms
	s, w := &shop{}, &watcher{}
	r := Runner{Fleet: s, Watch: w.watch}
	got, err := r.One(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []string{PhaseStarting, PhaseWarmup, PhaseRunning, PhaseDraining}, w.phases)
	require.EqualValues(t, 2, s.vouchers.Load())
	require.Equal(t, "ok", got.Row.Verdict)
	require.Equal(t, 120, got.Row.Requests)
	require.Equal(t, 150.0, got.Row.WarmupMS)
}
