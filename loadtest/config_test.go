package loadtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func twoStages() []Stage {
	return []Stage{
		{Name: "none"},
		{Name: "user-lock", UserKeyed: true, OneTry: true, Expires: true},
		{Name: "reentrant-simple", Expires: true, LongTTL: true},
	}
}

func plan(t *testing.T, c Config, stage, scenario string) Plan {
	t.Helper()
	c.Stages, c.Picks = twoStages(), []Pick{{stage, []string{scenario}}}
	plans, err := c.Plans()
	require.NoError(t, err)
	require.Len(t, plans, max(c.Repeat, 1))
	return plans[0]
}

func TestPresets(t *testing.T) {
	single := plan(t, Config{}, "none", "single")
	require.Equal(t, 1, single.Processes)
	require.Equal(t, 400, single.Users)
	require.Zero(t, single.TTL, "a stage without a TTL gets none")

	slow := plan(t, Config{}, "user-lock", "slow")
	require.Equal(t, 2, slow.Processes)
	require.Equal(t, 8, slow.Workers, "stages with a lock per user get few workers")
	require.Zero(t, slow.Wait, "a stage that tries once goes on doing so")
	require.Equal(t, 200*time.Millisecond, slow.TTL)

	whole := plan(t, Config{}, "reentrant-simple", "slow")
	require.Equal(t, time.Second, whole.TTL)
	require.Greater(t, whole.Work, whole.TTL)
}

func TestOverrides(t *testing.T) {
	work, ttl, wait := time.Millisecond, 5*time.Second, 7*time.Second
	c := Config{
		Processes: 3, Stock: 9, Users: 8, Clicks: 1, Workers: 2, Work: &work, TTL: &ttl, Wait: &wait, Repeat: 2, Seed: 40,
	}
	p := plan(t, c, "user-lock", "slow")
	require.Equal(t, Load{Stock: 9, Users: 8, Clicks: 1, Workers: 2, Work: work, TTL: ttl, Wait: wait}, p.Load)
	require.Equal(t, 3, p.Processes)
	require.Equal(t, uint64(40), p.Seed)
}

func TestConfigRefusals(t *testing.T) {
	long, short, minus := 2*time.Hour, time.Millisecond, -time.Second
	for name, c := range map[string]Config{
		"processes is -1": {Processes: -1}, "processes is 33": {Processes: 33}, "stock is -1": {Stock: -1},
		"users is 1000001": {Users: 1_000_001}, "clicks is -3": {Clicks: -3}, "workers is 99999": {Workers: 99_999},
		"repeat is -1": {Repeat: -1}, "work is 2h0m0s": {Work: &long}, "ttl is 1ms": {TTL: &short}, "wait is -1s": {Wait: &minus},
		`no stage "nope"`:        {Picks: []Pick{{"nope", []string{"single"}}}},
		`no scenario "sunshine"`: {Picks: []Pick{{"none", []string{"sunshine"}}}},
		"at least 2 processes":   {Processes: 1, Picks: []Pick{{"none", []string{"multi"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Stages = twoStages()
			_, err := c.Plans()
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, name)
		})
	}
}

func TestDefaultSetNamesScenarios(t *testing.T) {
	for _, pick := range DefaultSet() {
		_, err := ParseScenarios(strings.Join(pick.Scenarios, ","))
		require.NoError(t, err)
	}
}

func FuzzParseScenarios(f *testing.F) {
	for _, s := range []string{"all", "single", "single,multi", " slow , late", "", ",", "single,single", "nope"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := ParseScenarios(text)
		if err != nil {
			require.ErrorIs(t, err, ErrConfig)
			return
		}
		require.NotEmpty(t, names)
		for i, n := range names {
			_, err := scenarioByName(n)
			require.NoError(t, err)
			require.NotContains(t, slices.Clone(names[:i]), n)
		}
	})
}
