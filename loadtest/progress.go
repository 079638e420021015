package loadtest

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// NewProgress shows progress on w: as a bar on a terminal, as a line per row elsewhere.
func NewProgress(w io.Writer, terminal bool) Progress {
	if terminal {
		return &bar{w: w}
	}
	return &lines{w: w}
}

type bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

func (b *bar) Begin(n, total int, p Plan) {
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	b.bar.Describe(fmt.Sprintf("%-18s %-8s", p.Stage.Name, p.Scenario.Name))
}

func (b *bar) End(Row, time.Duration) { _ = b.bar.Add(1) } // a terminal that went away is no reason to stop

type lines struct {
	w        io.Writer
	n, total int
}

func (l *lines) Begin(n, total int, _ Plan) { l.n, l.total = n, total }

func (l *lines) End(r Row, took time.Duration) {
	_, _ = fmt.Fprintf(l.w, "[%d/%d] %s %s: %s (%.1fs)\n", l.n+1, l.total, r.Stage, r.Scenario, r.Verdict, took.Seconds())
}
