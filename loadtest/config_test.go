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
		{Name: "cas", FewOrders: true},
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

	require.Contains(t, plan(t, Config{}, "none", "late").Holds, "commit=stop:1s,skip=2,times=3")
	few := plan(t, Config{}, "cas", "late")
	require.Contains(t, few.Holds, "commit=stop:1s,times=3", "the first commit counts where few come")
	require.Contains(t, few.Holds, "release=pause:250ms,skip=2,times=3")
	require.Contains(t, plan(t, Config{}, "cas", "crash").Holds, "critical=kill")

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
		"rate is -1":             {Rate: -1}, "rate is 1000001": {Rate: 1_000_001}, "warmup is -1s": {Warmup: -time.Second}, "warmup is 11m0s": {Warmup: 11 * time.Minute},
		"scenario slow needs servers that compare starts": {Targets: []string{"http://a", "http://b"}, Picks: []Pick{{"none", []string{"slow"}}}},
		"needs at least 2 processes":                      {Targets: []string{"http://a"}, Picks: []Pick{{"none", []string{"multi"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Stages = twoStages()
			_, err := c.Plans()
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, name)
		})
	}
}

// Repeats run in rounds: each round has every row once, in the seed's order. The same seed gives the same rows in the same
// order, and each of them the same requests.
func TestSeedDecidesTheOrderOfRepeats(t *testing.T) {
	c := Config{Stages: twoStages(), Picks: []Pick{{"none", []string{"single", "multi", "slow"}}, {"user-lock", []string{"single", "multi"}}}, Repeat: 6, Seed: 3}
	first, err := c.Plans()
	require.NoError(t, err)
	again, err := c.Plans()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, first, 30)
	orders := map[string]bool{}
	for round := range 6 {
		seen, order := map[[2]string]bool{}, ""
		for i, p := range first[5*round : 5*round+5] {
			require.Equal(t, round+1, p.Repeat)
			require.Equal(t, 5*round+i+1, p.Order)
			require.Equal(t, uint64(3+round), p.Seed)
			require.Equal(t, clickPlan(p), clickPlan(again[5*round+i]))
			seen[[2]string{p.Stage.Name, p.Scenario.Name}] = true
			order += p.Stage.Name + p.Scenario.Name + " "
		}
		require.Len(t, seen, 5)
		orders[order] = true
	}
	require.Greater(t, len(orders), 1, "six rounds in the same order")

	c.Seed = 4
	other, err := c.Plans()
	require.NoError(t, err)
	require.NotEqual(t, order(first), order(other))
	c.Repeat = 1
	plain, err := c.Plans()
	require.NoError(t, err)
	require.Equal(t, []string{"none single", "none multi", "none slow", "user-lock single", "user-lock multi"}, order(plain))
}

func order(plans []Plan) (names []string) {
	for _, p := range plans {
		names = append(names, p.Stage.Name+" "+p.Scenario.Name)
	}
	return names
}

func TestTargetsKeepTheirOwnSettings(t *testing.T) {
	stages := []Stage{{Name: "lua", Expires: true, TTL: time.Minute, Wait: 4 * time.Second}}
	c := Config{Stages: stages, Targets: []string{"http://a", "http://b"}, Picks: []Pick{{"lua", []string{"single", "multi"}}}, Warmup: time.Second}
	plans, err := c.Plans()
	require.NoError(t, err)
	require.Equal(t, []string{"http://a"}, plans[0].Targets)
	require.Equal(t, 2, plans[1].Processes)
	require.Equal(t, []time.Duration{0, time.Minute, 4 * time.Second}, []time.Duration{plans[1].Work, plans[1].TTL, plans[1].Wait})
	require.Equal(t, time.Second, plans[1].Warmup)
	commands := plans[1].Commands()
	require.Empty(t, commands.Servers)
	require.Contains(t, commands.Users, "--target=http://a,http://b --stage=lua")
}

func TestRowsWithHoldPointsAreNotWarmedUp(t *testing.T) {
	c := Config{Warmup: time.Second}
	require.Zero(t, plan(t, c, "none", "crash").Warmup)
	require.Equal(t, time.Second, plan(t, c, "none", "slow").Warmup)
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
