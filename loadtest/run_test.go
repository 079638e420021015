package loadtest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sale is a row that the shop answers in a moment. Its TTL keeps the probe for a stuck lock short.
func sale(c Claim) Plan {
	p := small(20, 60, c)
	p.Workers, p.TTL, p.Seed = 8, 20*ms, 1
	return p
}

func run(t *testing.T, s *shop, p Plan) Row {
	t.Helper()
	r := Runner{Fleet: s}
	rows, err := r.Run(t.Context(), []Plan{p})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return rows[0]
}

func TestRunSellsEverythingOnce(t *testing.T) {
	r := run(t, &shop{}, sale(Claim{}))
	require.Equal(t, "ok", r.Verdict)
	require.True(t, r.AsClaimed)
	require.Equal(t, 120, r.Requests)
	require.Equal(t, 20, r.Accepted)
	require.Equal(t, 20, r.Rejected.AlreadyOrdered)
	require.Equal(t, 80, r.Rejected.SoldOut)
	require.Equal(t, 1, r.MaxHolders)
	require.Positive(t, r.RPS)
	require.Positive(t, r.Latency.Accepted.Max)
	require.GreaterOrEqual(t, r.Latency.Accepted.Max, r.Latency.Accepted.P50)
}

func TestRunFindsAnOversell(t *testing.T) {
	r := run(t, &shop{oversell: 3}, sale(Claim{}))
	require.Equal(t, 3, r.Oversold)
	require.Equal(t, "OVERSOLD 3", r.Verdict)
	require.False(t, r.AsClaimed)
}

func TestBrokenRowIsRepeatedBeforeItIsNotReproduced(t *testing.T) {
	s := &shop{}
	r := run(t, s, sale(Claim{Must: []string{Oversold}}))
	require.Equal(t, StatusNotReproduced, r.Status)
	require.False(t, r.AsClaimed)
	require.EqualValues(t, attempts, s.starts.Load())
	require.Equal(t, "attempt 4", r.Note)
}

// Weather that did not come says nothing; it is waited for more patiently than a race that was lost.
func TestUneventfulRowIsRepeated(t *testing.T) {
	p := sale(Claim{})
	p.Scenario.Load.Holds = []string{"commit=stop:1s"}
	s := &shop{}
	r := run(t, s, p)
	require.Equal(t, "INVALID: the planned stop did not happen", r.Verdict)
	require.EqualValues(t, eventAttempts, s.starts.Load())
}

func TestSafeRowThatFailsIsNotRepeated(t *testing.T) {
	s := &shop{oversell: 1}
	require.False(t, run(t, s, sale(Claim{Must: []string{Duplicates}})).AsClaimed)
	require.EqualValues(t, 1, s.starts.Load())
}

// S-22: a stage where every request is refused is never a pass, and a lock that nobody holds nor gets is stuck.
func TestRefusingEverythingIsNoPass(t *testing.T) {
	r := run(t, &shop{refuse: true}, sale(Claim{}))
	require.Equal(t, "INVALID: nothing was sold", r.Verdict)
	require.False(t, r.AsClaimed)
	require.Equal(t, 120, r.Rejected.Busy)

	r = run(t, &shop{refuse: true}, sale(Claim{Must: []string{Stuck}, May: []string{Undersold}}))
	require.Equal(t, "UNDERSOLD 20, STUCK", r.Verdict)
	require.True(t, r.AsClaimed)
}

func TestErrorsSpoilTheRow(t *testing.T) {
	r := run(t, &shop{breakDown: 10}, sale(Claim{}))
	require.Equal(t, StatusInvalid, r.Status)
	require.Contains(t, r.Verdict, "requests failed: 500 internal")
}

func TestUnplannedDeathSpoilsTheRow(t *testing.T) {
	r := run(t, &shop{dieAfter: 5, exits: true}, sale(Claim{}))
	require.Equal(t, "INVALID: process p1 died: killed", r.Verdict)
}

func TestPlannedDeathIsRoutedAround(t *testing.T) {
	p := sale(Claim{})
	p.Scenario.Load.Holds = []string{"critical=kill"}
	r := run(t, &shop{dieAfter: 5, exits: true}, p)
	require.Equal(t, "ok", r.Verdict, r.Note)
	require.Zero(t, r.Errors)
	require.Contains(t, r.Note, "cut off by the crash")
	require.Equal(t, 20, r.Orders)
	require.Zero(t, r.Unanswered, "whoever was cut off was told nothing")
}

func TestNotApplicableIsShownAndStartsNothing(t *testing.T) {
	s := &shop{}
	r := run(t, s, sale(Claim{NA: "no row locks"}))
	require.Equal(t, StatusNA, r.Status)
	require.Equal(t, "n/a: no row locks", r.Verdict)
	require.True(t, r.AsClaimed)
	require.Zero(t, s.starts.Load())
}

type recorder struct{ begun, ended int }

func (r *recorder) Begin(int, int, Plan)   { r.begun++ }
func (r *recorder) End(Row, time.Duration) { r.ended++ }

func TestCancelledRunReturnsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := &recorder{}
	runner := Runner{Fleet: &shop{}, Progress: seen, Results: func(Row) (io.WriteCloser, error) {
		if seen.begun == 2 {
			cancel()
		}
		return nopCloser{io.Discard}, nil
	}}
	rows, err := runner.Run(ctx, []Plan{sale(Claim{}), sale(Claim{}), sale(Claim{})})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, rows, 1)
	require.Equal(t, recorder{begun: 2, ended: 1}, *seen)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
