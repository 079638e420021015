package service

import (
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLadder_EveryStageIsWhole(t *testing.T) {
	require.Len(t, claimTable, len(ladder), "a claim without a stage, or two stages of one name")
	for _, s := range Ladder() {
		require.NoErrorf(t, s.Validate(), s.Name)
		require.NotEmptyf(t, s.Tracks, s.Name)
		require.Subsetf(t, Tracks(), s.Tracks, s.Name)
		require.Lenf(t, s.Claims.On, len(Scenarios()), s.Name)
		require.NotZerof(t, s.Text, "%s has no text", s.Name)
		found, err := StageByName(s.Name)
		require.NoError(t, err)
		require.Equal(t, s, found)
	}
}

func TestLadder_Tracks(t *testing.T) {
	names := func(track string) (out []string) {
		for _, s := range Track(track) {
			out = append(out, s.Name)
		}
		return out
	}
	require.Equal(t, []string{"none", "mutex", "setnx", "expire", "lua", "reentrant", "watchdog", "fenced", "conditional"}, names(Lesson))
	for _, track := range Tracks() {
		require.NotEmpty(t, names(track), track)
	}
	require.Empty(t, Track("no such track"))
}

// Each step of the lesson has to be told from its neighbour by what it does, not by what is said about it.
func TestLadder_NeighboursOfTheLessonDiffer(t *testing.T) {
	lesson := Track(Lesson)
	for i, step := range lesson[1:] {
		before := lesson[i]
		differs := slices.ContainsFunc(Scenarios(), func(scenario string) bool {
			return !reflect.DeepEqual(before.Claims.On[scenario], step.Claims.On[scenario])
		})
		require.Truef(t, differs, "%s and %s claim the same everywhere", before.Name, step.Name)
	}
}

// A reader of /stages must not be able to change the ladder.
func TestLadder_IsACopy(t *testing.T) {
	Ladder()[0].Name = "changed"
	require.Equal(t, "none", Ladder()[0].Name)
}

func TestStageByName_Unknown(t *testing.T) {
	_, err := StageByName("no-such-stage")
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "none, mutex, mutex-early")
}

func TestParts_Validate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Parts)
		says   string
	}{
		"unknown lock":         {func(p *Parts) { p.Lock = "zookeeper" }, `--lock "zookeeper" is none of none, mutex`},
		"unknown key":          {func(p *Parts) { p.LockKey = "" }, `--lock-key "" is none of`},
		"unknown span":         {func(p *Parts) { p.LockSpan = "x" }, "--lock-span"},
		"unknown on-loss":      {func(p *Parts) { p.OnLoss = "x" }, "--on-loss"},
		"unknown update":       {func(p *Parts) { p.StockUpdate = "x" }, "--stock-update"},
		"unknown path":         {func(p *Parts) { p.Path = "x" }, "--path"},
		"short TTL":            {func(p *Parts) { p.TTL = 1 }, "--ttl 1ns is below 10ms"},
		"negative TTL":         {func(p *Parts) { p.TTL = -1 }, "--ttl"},
		"half a second":        {func(p *Parts) { p.Lock, p.TTL = "reentrant-simple", 1.5e9 }, "whole seconds"},
		"negative retries":     {func(p *Parts) { p.CASRetries = -1 }, "--cas-retries"},
		"early and stop":       {func(p *Parts) { p.LockSpan, p.OnLoss = SpanEarly, LossStop }, "needs --on-loss ignore"},
		"late and for-update":  {func(p *Parts) { p.LockSpan, p.StockUpdate = SpanLate, UpdateForUpdate }, "needs --lock-span around"},
		"early and fenced":     {func(p *Parts) { p.LockSpan, p.Lock = SpanEarly, "fenced" }, "needs --lock-span around"},
		"fenced and unguarded": {func(p *Parts) { p.Lock, p.StockUpdate = "fenced", UpdateSkipLocked }, "does not carry the token"},
	} {
		t.Run(name, func(t *testing.T) {
			err := teach("lua").with(c.change).Validate()
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestClaims_Parse(t *testing.T) {
	for text, want := range map[string]Claim{
		"ok":     {},
		"O":      {Must: []string{Oversold}},
		"OF(DR)": {Must: []string{Oversold, ForeignRelease}, May: []string{Duplicates, Drift}},
		"(U)":    {May: []string{Undersold}},
	} {
		got, err := parseClaim(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "X", "O(", "O)", "(X)", "O(D", "ok(D)"} {
		_, err := parseClaim(text)
		require.Error(t, err, text)
	}
}

func TestClaims_ForAnEngine(t *testing.T) {
	late, err := StageByName("mutex-late")
	require.NoError(t, err)
	require.NotEmpty(t, late.Claims.For(SQLite, "single").NA)
	require.Equal(t, []string{Oversold}, late.Claims.For(MySQL, "single").Must)
	require.Empty(t, late.Claims.For(MySQL, "single").NA)
	for _, s := range Ladder() {
		c := s.Claims.For(SQLite, "single")
		require.Equal(t, c.NA == "", c.NAChinese == "", "%s gives its reason in both languages", s.Name)
	}
}

func TestEngineOf(t *testing.T) {
	for version, want := range map[string]string{
		"10.11.6": MariaDB, "11.6.1": MariaDB, "11.6.2": MariaDBSnapshot, "11.8.3": MariaDBSnapshot, "12.0": MariaDBSnapshot, "": MariaDB, "x": MariaDB,
	} {
		require.Equal(t, want, EngineOf(MariaDB, version), version)
	}
	require.Equal(t, MySQL, EngineOf(MySQL, "12.0.0"))
	require.Equal(t, SQLite, EngineOf(SQLite, "3.54.1"))
}

// The page shows the sources; a new file must not be forgotten in the embed directive, and a test must not be shown.
func TestSources(t *testing.T) {
	shown, err := fs.Glob(Sources, "*")
	require.NoError(t, err)
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	var want []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			want = append(want, f.Name())
		}
	}
	require.ElementsMatch(t, want, shown)
}
