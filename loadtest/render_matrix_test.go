package loadtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatrix_ALineAStageAndAColumnAScenario(t *testing.T) {
	r := Report{Rows: []Row{
		{Stage: "none", Scenario: "single", Verdict: "OVERSOLD 7", AsClaimed: true},
		{Stage: "none", Scenario: "single", Verdict: "OVERSOLD 9", AsClaimed: true},
		{Stage: "none", Scenario: "late", Verdict: "ok"},
		{Stage: "mutex", Scenario: "multi", Verdict: "n/a: a|b", Status: StatusNA, AsClaimed: true},
	}}
	var out strings.Builder
	require.NoError(t, r.WriteMatrix(&out))
	require.True(t, strings.HasPrefix(out.String(), strings.Join([]string{
		"| stage | single | late | multi |",
		"| --- | --- | --- | --- |",
		"| none | OVERSOLD 7; OVERSOLD 9 | ok (not as claimed) |  |",
		"| mutex |  |  | n/a |",
		"",
	}, "\n")), out.String())
	require.Contains(t, out.String(), "1 of 4 rows are NOT as their stage claims.")
}
