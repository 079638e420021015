package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/service"
)

func TestParseHold(t *testing.T) {
	for text, want := range map[string]hold{
		"critical=kill,skip=2":                    {point: "critical", action: "kill", skip: 2, times: -1},
		"commit=stop:600ms,times=2":               {point: "commit", action: "stop", length: 600 * time.Millisecond, times: 2},
		"release=pause:1s":                        {point: "release", action: "pause", length: time.Second, times: -1},
		"release-between=pause:1s,times=3,skip=1": {point: "release-between", action: "pause", length: time.Second, times: 3, skip: 1},
	} {
		got, err := parseHold(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", "critical", "critical=", "nowhere=kill", "critical=run", "critical=pause", "critical=kill:1s", "critical=pause:-1s",
		"critical=pause:2h", "critical=kill,skip=x", "critical=kill,skip=-1", "critical=kill,often=1", "critical=kill,", "=kill",
	} {
		_, err := parseHold(text)
		require.Error(t, err, text)
	}
}

// The holds of every scenario are such as serve accepts.
func TestScenariosHoldsParse(t *testing.T) {
	for _, s := range loadtest.Scenarios() {
		texts := s.Holds
		if s.LongTTL != nil {
			texts = slices.Concat(texts, s.LongTTL.Holds)
		}
		for _, text := range texts {
			_, err := parseHold(text)
			require.NoError(t, err)
		}
	}
}

func FuzzParseHold(f *testing.F) {
	for _, s := range []string{"critical=kill,skip=2", "commit=stop:600ms,times=2", "release=pause:1s", "x", "=,=", "commit=pause:9e9h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHold(text)
		if err != nil {
			return
		}
		require.Contains(t, holdPoints(), h.point)
		require.Equal(t, h.action != holdKill, h.length > 0)
		require.LessOrEqual(t, h.length, maxHold)
		require.GreaterOrEqual(t, h.skip, 0)
	})
}

func names(stages []service.Stage) (out []string) {
	for _, s := range stages {
		out = append(out, s.Name)
	}
	return out
}

func TestParseStages(t *testing.T) {
	for text, want := range map[string][]string{
		"lua, none ,lua": {"none", "lua"}, "all": service.Names(), "none,lesson": names(service.Track("lesson")),
	} {
		got, err := parseStages(text)
		require.NoError(t, err)
		require.Equal(t, want, names(got))
	}
}

func FuzzParseStages(f *testing.F) {
	for _, s := range []string{"all", "none", "lesson,none", " lua , mutex", "", ",,", "nope"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseStages(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, got)
		seen := map[string]bool{}
		for _, s := range got {
			require.False(t, seen[s.Name])
			seen[s.Name] = true
		}
	})
}

func TestPicks(t *testing.T) {
	set, stages, err := picks("", "")
	require.NoError(t, err)
	require.Equal(t, loadtest.DefaultSet(), set)
	require.Len(t, stages, len(set))

	set, _, err = picks("mutex", "")
	require.NoError(t, err)
	require.Equal(t, []loadtest.Pick{{Stage: "mutex", Scenarios: service.Scenarios()}}, set)

	set, _, err = picks("", "multi")
	require.NoError(t, err)
	require.Len(t, set, len(loadtest.DefaultSet()))
}

// The words of the two packages, which do not know each other, are the same.
func TestClaimsSpeakOfTheSameScenariosAndOutcomes(t *testing.T) {
	var scenarios []string
	for _, s := range loadtest.Scenarios() {
		scenarios = append(scenarios, s.Name)
	}
	require.Equal(t, service.Scenarios(), scenarios)
	for _, engine := range []string{service.SQLite, service.MySQL, service.MariaDB} {
		for _, s := range measurable(service.Ladder(), engine) {
			for scenario, claim := range s.Claims {
				for _, o := range append(claim.Must, claim.May...) {
					require.Contains(t, loadtest.Outcomes(), o, "%s in %s", s.Name, scenario)
				}
			}
		}
	}
}

func TestWhatTheLoadTestKnowsOfStages(t *testing.T) {
	stages := map[string]loadtest.Stage{}
	for _, s := range measurable(service.Ladder(), service.SQLite) {
		stages[s.Name] = s
	}
	require.True(t, stages["lua-once"].OneTry)
	require.True(t, stages["user-lock"].OneTry && stages["user-lock"].UserKeyed)
	require.True(t, stages["mutex"].LocalLock && !stages["mutex"].Expires)
	require.True(t, stages["reentrant-simple"].LongTTL && stages["redlock"].LongTTL)
	require.False(t, stages["setnx"].Expires)
	require.NotEmpty(t, stages["for-update"].Claims["multi"].NA)
}
