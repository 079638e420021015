package loadtest

import (
	"context"
	"time"
)

// Fleet starts the servers of a row. The command line implements it with child processes.
type Fleet interface {
	// Start starts the servers and returns once every one of them accepts requests. When one can't, those already
	// started are stopped before the error is returned.
	Start(ctx context.Context, s Spec) (Crew, error)
}

// Crew is the running servers of one row, numbered from 0. Its methods are safe for concurrent use.
type Crew interface {
	// URLs are the servers' base URLs, without a slash at the end.
	URLs() []string
	// Dead tells whether server i has ended.
	Dead(i int) bool
	// Deaths describes the servers that ended before Stop, by number.
	Deaths() map[int]string
	// Said is the last line that server i logged, empty for none.
	Said(i int) string
	// Stopped is how many times a hold point has stopped a server.
	Stopped() int
	// Kill ends server i at once, without a chance to clean up.
	Kill(i int) error
	// Pause makes server i stand still for d, and returns at once.
	Pause(i int, d time.Duration) error
	// Stop ends all servers and waits for them.
	Stop()
}

// Spec is what the servers of a row are started with.
type Spec struct {
	Stage     string
	Processes int
	Work      time.Duration
	TTL       time.Duration // 0: the stage's own
	Wait      time.Duration // 0: one try
	Nested    bool
	// Holds are the hold points of server 0.
	Holds []string
}
