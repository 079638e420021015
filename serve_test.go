package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
)

// ready waits for the line that names the URL.
func (p *program) ready(t *testing.T) string {
	t.Helper()
	eventually(t, p.out, "\n")
	line, _, _ := strings.Cut(p.out.all(), "\n")
	var e event
	require.NoError(t, json.Unmarshal([]byte(line), &e))
	require.Equal(t, eventListening, e.Event)
	return e.URL
}

func post(t *testing.T, url, user, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-User-ID", user)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

const saleBody = `{"title":"t","stock":2,"price_cents":1,"begin_at":"2020-01-01T00:00:00Z","end_at":"2099-01-01T00:00:00Z"}`

// voucher puts a voucher with two units on sale and returns the URL of its orders.
func voucher(t *testing.T, url string) string {
	t.Helper()
	status, body := post(t, url+"/api/v1/vouchers", "1", saleBody)
	require.Equal(t, http.StatusCreated, status, body)
	var v struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &v))
	return url + "/api/v1/vouchers/" + v.ID + "/orders"
}

func TestServeSellsAndEndsInOrder(t *testing.T) {
	p := newProgram(t, "serve", "--addr=127.0.0.1:0", "--stage=lua")
	p.begin(t)
	orders := voucher(t, p.ready(t))
	for _, c := range []struct {
		user, query, code string
		status            int
	}{
		{"1", "", `"status":"created"`, 201}, {"1", "", "already_ordered", 409}, {"2", "?stage=fenced", `"status":"created"`, 201},
		{"3", "?stage=conditional", "sold_out", 409}, {"4", "?stage=nonsense", "bad_request", 400},
	} {
		status, body := post(t, orders+c.query, c.user, "")
		require.Equal(t, c.status, status, body)
		require.Contains(t, body, c.code)
	}
	require.Contains(t, p.err.all(), "LAB MODE")
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.ends(t), p.err.all())
	p.leavesNothing(t)
}

func TestParentPipeEndsTheServer(t *testing.T) {
	p := newProgram(t, "serve", "--addr=127.0.0.1:0", "--parent-pipe")
	stdin, err := p.StdinPipe()
	require.NoError(t, err)
	p.begin(t)
	p.ready(t)
	require.NoError(t, stdin.Close())
	require.Zero(t, p.ends(t), p.err.all())
	p.leavesNothing(t)
}

// testFleet is a fleet on embedded engines.
func testFleet(t *testing.T) *fleet {
	t.Helper()
	run, err := (&engineFlags{redis: embedded, db: embedded}).start(t.Context(), 1)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	require.NoError(t, err)
	f, err := newFleet(run.addresses)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

func TestChildThatStopsIsWokenUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes can't be stopped on Windows")
	}
	crew, err := testFleet(t).Start(t.Context(), loadtest.Spec{
		Stage: "conditional", Processes: 1, Holds: []string{"commit=stop:100ms,times=1"},
	})
	require.NoError(t, err)
	defer crew.Stop()
	status, body := post(t, voucher(t, crew.URLs()[0]), "1", "")
	require.Equal(t, http.StatusCreated, status, body)
	require.Equal(t, 1, crew.Stopped())
	require.Empty(t, crew.Deaths())
}

func TestKilledChildIsADeathAndAStoppedOneIsNot(t *testing.T) {
	crew, err := testFleet(t).Start(t.Context(), loadtest.Spec{Stage: "none", Processes: 2})
	require.NoError(t, err)
	defer crew.Stop()
	require.NoError(t, crew.Kill(1))
	require.True(t, becomes(func() bool { return crew.Dead(1) }))
	require.Equal(t, map[int]string{1: "signal: killed"}, crew.Deaths())
	require.ErrorIs(t, crew.Kill(1), errNotRunning)
	if runtime.GOOS != "windows" {
		require.NoError(t, crew.Pause(0, time.Hour), "it is woken up to be stopped")
	}
	crew.Stop()
	require.True(t, crew.Dead(0))
	require.Len(t, crew.Deaths(), 1, "whoever is asked to end has not died")
}

func TestCrewThatCantStartLeavesNobody(t *testing.T) {
	f := testFleet(t)
	f.engines.db = "sqlite://" + t.TempDir() + "/empty.db"
	before := children(t) // servers that other tests share
	_, err := f.Start(t.Context(), loadtest.Spec{Stage: "none", Processes: 2})
	require.ErrorContains(t, err, "seckill migrate", "what the child said is passed on")
	require.Subset(t, before, children(t))
}

// children are the processes that this one has started, on whatever thread, and not waited for.
func children(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children") // none but on Linux
	require.NoError(t, err)
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}
