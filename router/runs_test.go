package router

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// fakeRuns is a lab with one run, whose state the test changes.
type fakeRuns struct {
	mu      sync.Mutex
	run     Run
	changed chan struct{}
	asked   RunRequest
	err     error
	seen    []Seen
}

func newFakeRuns() *fakeRuns {
	return &fakeRuns{changed: make(chan struct{}), run: Run{ID: "r1", Status: RunRunning}}
}

func (f *fakeRuns) Info() RunsInfo { return RunsInfo{Queue: 3} }

func (f *fakeRuns) Start(q RunRequest) (Run, error) {
	f.asked = q
	return f.run, f.err
}

func (f *fakeRuns) List() []Run { return nil }

func (f *fakeRuns) Get(id string) (Run, error) {
	if id != "r1" {
		return Run{}, service.ErrNotFound
	}
	return f.run, nil
}

func (f *fakeRuns) Follow(id string, seen Seen) (Run, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seen)
	r, err := f.Get(id)
	return r, f.changed, err
}

func (f *fakeRuns) Cancel(id string) (Run, error) {
	r, err := f.Get(id)
	if err == nil && r.Ended() {
		err = service.ErrInvalidState
	}
	return r, err
}

func (f *fakeRuns) Report(w io.Writer, id, format string) error {
	if _, err := f.Get(id); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "as "+format)
	return err
}

// change sets the run's state and tells the followers.
func (f *fakeRuns) change(r Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = r
	close(f.changed)
	f.changed = make(chan struct{})
}

func labShop(t *testing.T) (*shop, *fakeRuns) {
	f := newFakeRuns()
	return newShop(t, func(o *Options) { o.Runs = f }), f
}

func TestRuns_Start(t *testing.T) {
	s, f := labShop(t)
	s.do("POST", "/api/v1/lab/runs", `{"stage":"mutex","scenario":"multi","work_ms":0,"prediction":[]}`).is(202, "")
	require.Equal(t, "mutex", f.asked.Stage)
	require.Zero(t, *f.asked.WorkMS, "0 is a time; absent is the preset")
	require.Nil(t, f.asked.TTLMS)
	require.Empty(t, *f.asked.Prediction, "nothing breaks is a prediction")
	for _, body := range []string{"", "[]", `{"stage":1}`, `{"stag":"mutex"}`, `{"users":1.5}`, `{"users":99999999999999999999}`, "{}{}"} {
		s.do("POST", "/api/v1/lab/runs", body).is(400, "bad_request")
	}
	for err, code := range map[error]string{ErrQueueFull: "rate_limited", fmt.Errorf("%w: x", service.ErrInvalid): "invalid"} {
		f.err = err
		s.do("POST", "/api/v1/lab/runs", "{}").is(map[string]int{"rate_limited": 429, "invalid": 422}[code], code)
	}
}

func TestRuns_AnotherSitesPageIsRefused(t *testing.T) {
	s, _ := labShop(t)
	for _, path := range []string{"/api/v1/lab/runs", "/api/v1/lab/runs/r1/cancel"} {
		s.do("POST", path, "{}", "Sec-Fetch-Site: cross-site").is(403, "forbidden")
	}
	s.do("POST", "/api/v1/lab/runs", "{}", "Sec-Fetch-Site: same-origin").is(202, "")
}

func TestRuns_ThatAreNotThere(t *testing.T) {
	s, f := labShop(t)
	for _, path := range []string{"", "/events", "/report"} {
		s.do("GET", "/api/v1/lab/runs/nobody"+path, "").is(404, "not_found")
	}
	s.do("POST", "/api/v1/lab/runs/nobody/cancel", "").is(404, "not_found")
	require.JSONEq(t, "[]", s.do("GET", "/api/v1/lab/runs", "").is(200, "").Body, "an empty list, not null")
	f.change(Run{ID: "r1", Status: RunDone})
	s.do("POST", "/api/v1/lab/runs/r1/cancel", "").is(409, "invalid_state")
	s = newShop(t)
	s.do("GET", "/api/v1/lab/runs", "").is(404, "not_found")
}

func TestRuns_Report(t *testing.T) {
	s, _ := labShop(t)
	for format, file := range map[string]string{"json": "seckill-r1.json", "markdown": "seckill-r1.md", "html": "seckill-r1.html"} {
		got := s.do("GET", "/api/v1/lab/runs/r1/report?format="+format, "").is(200, "")
		require.Equal(t, "as "+format, got.Body)
		require.Equal(t, `attachment; filename="`+file+`"`, got.Header.Get("Content-Disposition"))
		require.Equal(t, reportTypes[format], got.Header.Get("Content-Type"))
	}
	s.do("GET", "/api/v1/lab/runs/r1/report?format=pdf", "").is(400, "bad_request")
}

// A follower is told what is there, then what is new, and the stream ends with the run.
func TestRuns_Events(t *testing.T) {
	s, f := labShop(t)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	f.run.Attempt, f.run.Samples = 1, []json.RawMessage{json.RawMessage(`{"orders":1}`)}
	resp, err := http.Get(server.URL + "/api/v1/lab/runs/r1/events")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewReader(resp.Body)
	next := func() (r Run) {
		name, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "event: run\n", name)
		data, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &r))
		_, err = lines.ReadString('\n')
		require.NoError(t, err)
		return r
	}
	require.Equal(t, RunRunning, next().Status)
	f.change(Run{ID: "r1", Status: RunDone, Attempt: 1, From: 1})
	require.Equal(t, RunDone, next().Status)
	_, err = lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, []Seen{{}, {Attempt: 1, Samples: 1}}, f.seen)
}

// However often a run changes, a browser is told at most once every eventEvery.
func TestRuns_EventsAreThrottled(t *testing.T) {
	s, f := labShop(t)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	began := time.Now()
	resp, err := http.Get(server.URL + "/api/v1/lab/runs/r1/events")
	require.NoError(t, err)
	defer resp.Body.Close()
	go func() {
		for range 2000 {
			f.change(Run{ID: "r1", Status: RunRunning})
		}
		f.change(Run{ID: "r1", Status: RunDone})
	}()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	events := strings.Count(string(text), "event: run")
	require.LessOrEqual(t, events, int(time.Since(began)/eventEvery)+2)
	require.Contains(t, string(text), `"status":"done"`)
}
