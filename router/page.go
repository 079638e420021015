package router

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

// web is the page: plain files that a browser runs as they are, without a build step.
//
//go:embed web
var web embed.FS

// pagePolicy lets the page load its own files and ask its own server, and nothing else. No script or style stands in
// the HTML, so that text which finds its way into it can't run.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// SourceFile is a file that a stage is made of, or the part of it that it uses.
type SourceFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Marks are the lines that matter, from 1.
	Marks []int `json:"marks"`
}

func (a *api) pageRoutes(e *gin.Engine) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(method, "/", a.handle(func(c *gin.Context) error { return pageFile(c, "index.html") }))
		e.Handle(method, "/web/:file", a.handle(func(c *gin.Context) error { return pageFile(c, c.Param("file")) }))
	}
}

// pageData is what the page asks for besides what every client does.
func (a *api) pageData(g *gin.RouterGroup) {
	g.GET("/about", a.handle(a.about))
	if a.Sources != nil {
		g.GET("/stages/:name/source", a.handle(a.stageSource))
	}
}

// pageFile answers with a file of the page. A browser asks each time whether it has changed, so that a new version of
// the program is never mixed with the files of an old one.
func pageFile(c *gin.Context, name string) error {
	text, err := fs.ReadFile(web, path.Join("web", path.Base(name)))
	if err != nil {
		return errNoRoute
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", mediaType(name))
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(text)))
	http.ServeContent(c.Writer, c.Request, name, time.Time{}, bytes.NewReader(text))
	return nil
}

// mediaType does not ask the operating system, which on some machines calls JavaScript plain text.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// aboutJSON is what the page has to know of its server.
type aboutJSON struct {
	Lab   bool      `json:"lab"`
	Runs  bool      `json:"runs"`  // whether the lab runs stages
	Stage string    `json:"stage"` // how this server places orders
	Now   time.Time `json:"now"`   // by the server's clock, which decides when a sale begins
}

func (a *api) about(c *gin.Context) error {
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, aboutJSON{Lab: a.Lab, Runs: a.Lab && a.Runs != nil, Stage: a.Stage.Name, Now: time.Now().UTC()})
	return nil
}

// stageSource shows the files that a stage is made of: those that run.
func (a *api) stageSource(c *gin.Context) error {
	stage, err := service.StageByName(c.Param("name"))
	if err != nil {
		return fmt.Errorf("%w: %v", service.ErrNotFound, err)
	}
	files, err := a.Sources(stage)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, files)
	return nil
}
