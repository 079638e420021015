package router

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

const (
	// eventEvery is the least time between two events to one browser: quicker ones nobody can read.
	eventEvery = 200 * time.Millisecond
	// eventIdle is when a stream without news says that it lives, so that no proxy takes it for dead.
	eventIdle = 15 * time.Second
	// eventWithin is how long a browser may take to read an event.
	eventWithin = 30 * time.Second
)

// reportTypes are the media types of the reports' formats, and reportEnds the ends of their files' names.
var (
	reportTypes = map[string]string{
		"json": "application/json; charset=utf-8", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
	}
	reportEnds = map[string]string{"json": "json", "markdown": "md", "html": "html"}
)

func (a *api) runRoutes(g *gin.RouterGroup) {
	g.GET("/lab/runs/info", a.handle(a.runsInfo))
	g.GET("/lab/runs", a.handle(a.listRuns))
	g.POST("/lab/runs", a.handle(a.startRun))
	g.GET("/lab/runs/:run", a.handle(a.getRun))
	g.POST("/lab/runs/:run/cancel", a.handle(a.cancelRun))
	g.GET("/lab/runs/:run/events", a.handle(a.followRun))
	g.GET("/lab/runs/:run/report", a.handle(a.reportRun))
}

func (a *api) runsInfo(c *gin.Context) error {
	c.JSON(http.StatusOK, a.Runs.Info())
	return nil
}

func (a *api) listRuns(c *gin.Context) error {
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, append([]Run{}, a.Runs.List()...))
	return nil
}

// ownPage refuses requests that another site's page makes a visitor's browser send.
func ownPage(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return fmt.Errorf("%w: another site's page may not use the lab", service.ErrForbidden)
	}
	return nil
}

func (a *api) startRun(c *gin.Context) error {
	if err := ownPage(c.Request); err != nil {
		return err
	}
	var r RunRequest
	if err := decode(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody), &r); err != nil {
		return err
	}
	run, err := a.Runs.Start(r)
	if err != nil {
		return err
	}
	c.Header("Location", "/api/v1/lab/runs/"+run.ID)
	c.JSON(http.StatusAccepted, run)
	return nil
}

func (a *api) getRun(c *gin.Context) error {
	run, err := a.Runs.Get(c.Param("run"))
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, run)
	return nil
}

func (a *api) cancelRun(c *gin.Context) error {
	if err := ownPage(c.Request); err != nil {
		return err
	}
	run, err := a.Runs.Cancel(c.Param("run"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, run)
	return nil
}

// reportRun writes the report as a file to keep.
func (a *api) reportRun(c *gin.Context) error {
	format, id := c.DefaultQuery("format", "json"), c.Param("run")
	if reportTypes[format] == "" {
		return fmt.Errorf("%w: format must be json, markdown or html", errBadRequest)
	}
	var text bytes.Buffer
	if err := a.Runs.Report(&text, id, format); err != nil {
		return err
	}
	c.Header("Content-Disposition", fmt.Sprintf(`attachment; filename="seckill-%s.%s"`, id, reportEnds[format]))
	c.Header("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, reportTypes[format], text.Bytes())
	return nil
}

// followRun streams the run as server-sent events: at first all that there is, then what is new, each a Run in JSON
// under the name "run". The stream ends with the run.
func (a *api) followRun(c *gin.Context) error {
	run, more, err := a.Runs.Follow(c.Param("run"), Seen{})
	if err != nil {
		return err
	}
	c.Header("Content-Type", "text/event-stream")
	c.Header("Cache-Control", "no-store")
	c.Header("X-Accel-Buffering", "no") // a proxy shall hand each event on at once
	c.Status(http.StatusOK)
	out := stream{http.NewResponseController(c.Writer), c.Writer}
	idle := time.NewTicker(eventIdle)
	defer idle.Stop()
	for {
		if out.send(run) != nil || run.Ended() {
			return nil // a browser that has gone is no failure
		}
		seen := Seen{run.Attempt, run.From + len(run.Samples)}
		if !out.wait(c, more, idle.C) {
			return nil
		}
		if run, more, err = a.Runs.Follow(run.ID, seen); err != nil {
			return nil // forgotten meanwhile; the browser asks again and is told
		}
	}
}

// stream writes server-sent events.
type stream struct {
	control *http.ResponseController
	out     http.ResponseWriter
}

func (s stream) send(run Run) error {
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	return s.write(slices.Concat([]byte("event: run\ndata: "), text, []byte("\n\n")))
}

// write moves the server's limit for a whole answer, which a stream outlives.
func (s stream) write(text []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(eventWithin)); err != nil {
		return err
	}
	if _, err := s.out.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

// wait tells whether there is more to send; false: the browser has gone.
func (s stream) wait(c *gin.Context, more <-chan struct{}, idle <-chan time.Time) bool {
	gone := c.Request.Context().Done()
	pause := time.NewTimer(eventEvery)
	defer pause.Stop()
	for waiting := true; waiting; {
		select {
		case <-gone:
			return false
		case <-idle:
			if s.write([]byte(": still here\n\n")) != nil {
				return false
			}
		case <-more:
			waiting = false
		}
	}
	select {
	case <-gone:
		return false
	case <-pause.C:
		return true
	}
}
