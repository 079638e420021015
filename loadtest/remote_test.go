package loadtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// elsewhere runs a shop's servers and gives their URLs.
func elsewhere(t *testing.T, s *shop) []string {
	t.Helper()
	crew, err := s.Start(t.Context(), Spec{Processes: 2})
	require.NoError(t, err)
	t.Cleanup(crew.Stop)
	return crew.URLs()
}

func TestRemoteServersAreDrivenAndAskedForTheStage(t *testing.T) {
	urls := elsewhere(t, &shop{knows: "s", stage: "s"})
	fleet := Remote{URLs: urls}
	require.NoError(t, fleet.Check(t.Context(), []string{"s"}))
	p := sale(Claim{})
	p.Targets = urls
	p.Warmup = 50 * ms
	r := Runner{Fleet: fleet}
	got, err := r.One(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, "ok", got.Row.Verdict, got.Row.Note)
	require.Equal(t, 20, got.Row.Accepted)
	require.Contains(t, got.Row.Note, "the servers' own")
	require.Equal(t, "p1", got.Spans[0].Process)
	require.Contains(t, got.Row.Judged, ForeignRelease, "the servers are on one host")
}

func TestRemoteServersMustShareTheirVouchers(t *testing.T) {
	p := sale(Claim{})
	p.Targets = elsewhere(t, &shop{strange: true})
	r := Runner{Fleet: Remote{URLs: p.Targets}}
	_, err := r.One(t.Context(), p)
	require.ErrorContains(t, err, "do they share a database?")
}

func TestRemoteCheckNamesTheReason(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for words, urls := range map[string][]string{
		"no answer":                    {gone.URL},
		"it is no seckill server":      {other.URL},
		"does not know the stage fair": elsewhere(t, &shop{knows: "lua"}),
		"not in lab mode":              elsewhere(t, &shop{knows: "fair", noLab: true}),
	} {
		err := Remote{URLs: urls}.Check(t.Context(), []string{"fair"})
		require.ErrorContains(t, err, words)
		require.ErrorContains(t, err, "target "+urls[0])
	}
	_, err := Remote{URLs: []string{"http://a"}}.Start(t.Context(), Spec{Processes: 2})
	require.ErrorContains(t, err, "2 servers are needed, 1 are named")
}

func TestRemoteEnginesMustBeTheSame(t *testing.T) {
	server := func(version string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"redis":{"kind":"redis","version":"8"},"db":{"kind":"mysql","version":%q}}`, version)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	a, same, other := server("8.4.1"), server("8.4.1"), server("8.4.2")
	got, err := Remote{URLs: []string{a, same}}.Engines(t.Context())
	require.NoError(t, err)
	require.Equal(t, RemoteEngines{Redis: Engine{"redis", "8"}, DB: Engine{"mysql", "8.4.1"}}, got)
	_, err = Remote{URLs: []string{a, other}}.Engines(t.Context())
	require.ErrorContains(t, err, "target "+other+" is on redis 8 and mysql 8.4.2, another one on redis 8 and mysql 8.4.1")
	_, err = Remote{URLs: elsewhere(t, &shop{})}.Engines(t.Context())
	require.ErrorContains(t, err, "does not tell its engines")
}

func TestParseTargets(t *testing.T) {
	got, err := ParseTargets(" http://127.0.0.1:8081/ ,https://b.example")
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:8081", "https://b.example"}, got)
	for _, list := range []string{
		"", ",", "127.0.0.1:8081", "ftp://a", "http://", "http://a/path", "http://a?x=1", "http://u:p@a", "http://a,http://a/", "http://a#f", "::",
	} {
		_, err := ParseTargets(list)
		require.ErrorIs(t, err, ErrConfig, list)
		require.NotContains(t, err.Error(), "u:p")
	}
}

// Times of different hosts can't be compared, so nothing is concluded from them.
func TestClocksOfDifferentHostsAreNotCompared(t *testing.T) {
	for _, c := range []struct {
		targets []string
		one     bool
	}{
		{nil, true}, {[]string{"http://a:1"}, true}, {[]string{"http://a:1", "http://a:2"}, true},
		{[]string{"http://localhost:1", "http://127.0.0.1:2"}, true}, {[]string{"http://a:1", "http://b:1"}, false},
	} {
		p := small(2, 3, Claim{})
		p.Targets = c.targets
		require.Equal(t, c.one, p.oneClock(), c.targets)
		r := judge(p, measured(p, 0, 1, 1))
		if c.one {
			require.Contains(t, r.Judged, ForeignRelease)
		} else {
			require.NotContains(t, r.Judged, ForeignRelease)
			require.Contains(t, r.Note, "clocks differ")
		}
	}
}
