package router

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Runs is the laboratory: it runs stages under load, one run at a time, and remembers the last ones. Its methods are
// safe for concurrent use and do not wait for a run. A run that it does not know is service.ErrNotFound.
type Runs interface {
	// Info tells what can be run here.
	Info() RunsInfo
	// Start puts a run into the queue; service.ErrInvalid for one that can't be run, ErrQueueFull.
	Start(RunRequest) (Run, error)
	// List is all runs that are remembered, the newest first, without samples and results.
	List() []Run
	// Get is the run with its result, without samples.
	Get(id string) (Run, error)
	// Follow is the run with the samples that the caller has not seen, and a channel that is closed when there is more
	// to see. It is nil once the run has ended.
	Follow(id string, seen Seen) (Run, <-chan struct{}, error)
	// Cancel ends a run, which is then cancelled as soon as its servers have stopped; service.ErrInvalidState for one
	// that has ended.
	Cancel(id string) (Run, error)
	// Report writes the report of a run that is done, in one of ReportFormats; service.ErrInvalidState for another.
	Report(w io.Writer, id, format string) error
}

// ErrQueueFull refuses a run because too many wait already.
var ErrQueueFull = fmt.Errorf("%w: the queue of runs is full; cancel one or wait", errRateLimited)

// States of a run, in order; the last four are final.
const (
	RunQueued      = "queued"
	RunRunning     = "running"
	RunDone        = "done"
	RunCancelled   = "cancelled"
	RunFailed      = "failed"      // the measuring failed, which says nothing about the stage
	RunInterrupted = "interrupted" // the server stopped first
)

// RunRequest is what somebody wants to see. Numbers that are 0 and times that are absent are the scenario's preset.
type RunRequest struct {
	Stage     string `json:"stage"`
	Scenario  string `json:"scenario"`
	Processes int    `json:"processes,omitempty"`
	Stock     int    `json:"stock,omitempty"`
	Users     int    `json:"users,omitempty"`
	Clicks    int    `json:"clicks,omitempty"` // of each user, at the same moment
	Workers   int    `json:"workers,omitempty"`
	WorkMS    *int64 `json:"work_ms,omitempty"`
	TTLMS     *int64 `json:"ttl_ms,omitempty"`
	// Prediction is the outcomes that somebody expects: empty for ok, absent when nobody has predicted anything.
	Prediction *[]string `json:"prediction,omitempty"`
}

// Run is one run of a stage in a scenario.
type Run struct {
	ID        string     `json:"id"`
	Status    string     `json:"status"`
	Place     int        `json:"place,omitempty"` // in the queue, from 1
	Request   RunRequest `json:"request"`
	Plan      RunPlan    `json:"plan"` // the request with the presets filled in
	QueuedAt  time.Time  `json:"queued_at"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Problem   string     `json:"problem,omitempty"` // why it failed

	// Attempt counts from 1: a claimed fault may fail to appear by chance. A new one begins without samples.
	Attempt int    `json:"attempt,omitempty"`
	Phase   string `json:"phase,omitempty"` // of loadtest: starting, running, draining
	// From is how many samples of the attempt come before Samples.
	From    int               `json:"from"`
	Samples []json.RawMessage `json:"samples,omitempty"`

	// The verdict, once the run is done.
	Verdict        string   `json:"verdict,omitempty"`
	VerdictChinese string   `json:"verdict_zh,omitempty"`
	RowStatus      string   `json:"row_status,omitempty"`
	Outcome        []string `json:"outcome,omitempty"`
	AsClaimed      bool     `json:"as_claimed,omitempty"`
	// Result is {"row","verdict_zh","note_zh","spans","spans_left_off"}: the row of the report, its texts in Chinese, and
	// who held the lock when.
	Result json.RawMessage `json:"result,omitempty"`
}

// Ended tells whether the run's state is final.
func (r Run) Ended() bool { return r.Status != RunQueued && r.Status != RunRunning }

// Seen is what a follower has: so many samples of an attempt.
type Seen struct{ Attempt, Samples int }

// RunPlan is a run's numbers, and what its stage claims there.
type RunPlan struct {
	Processes int      `json:"processes"`
	Stock     int      `json:"stock"`
	Users     int      `json:"users"`
	Clicks    int      `json:"clicks"`
	Workers   int      `json:"workers"`
	WorkMS    float64  `json:"work_ms"`
	TTLMS     float64  `json:"ttl_ms"` // 0: the lock has none
	Must      []string `json:"must"`
	May       []string `json:"may"`
	NA        string   `json:"na,omitempty"` // why the stage can't run there
	NAChinese string   `json:"na_zh,omitempty"`
}

// RunLimit is the smallest and the largest value of a setting.
type RunLimit struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// RunsInfo is what can be run.
type RunsInfo struct {
	Redis    string                        `json:"redis"`
	DB       string                        `json:"db"`
	Limits   map[string]RunLimit           `json:"limits"`    // by the names of RunRequest's settings, and "requests"
	Queue    int                           `json:"queue"`     // runs that may wait
	MaxS     int                           `json:"max_s"`     // seconds after which a run is ended
	Presets  map[string]map[string]RunPlan `json:"presets"`   // stage -> scenario
	Scenes   []string                      `json:"scenarios"` // in the order to list them
	Outcomes []string                      `json:"outcomes"`
}
