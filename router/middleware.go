package router

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	requestIDHeader = "X-Request-ID"
	requestIDMax    = 64
)

// requestID takes over the caller's X-Request-ID when it is safe to log, and makes one otherwise.
func requestID(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !saneID(id) {
		id = rand.Text()
	}
	c.Set(requestIDHeader, id)
	c.Header(requestIDHeader, id)
}

func saneID(id string) bool {
	if id == "" || len(id) > requestIDMax {
		return false
	}
	for _, r := range id {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return true
}

func idOf(c *gin.Context) string { return c.GetString(requestIDHeader) }

// recovery turns a panic into a log entry with its stack and a 500.
func (a *api) recovery(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // net/http's own way of dropping a connection
		}
		a.fail(c, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
	}()
	c.Next()
}

// accessLog is only installed when somebody listens.
func (a *api) accessLog(c *gin.Context) {
	start := time.Now()
	c.Next()
	a.Log.LogAttrs(c.Request.Context(), slog.LevelDebug, "request",
		slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.Path),
		slog.Int("status", c.Writer.Status()), slog.Duration("took", time.Since(start)), slog.String("request_id", idOf(c)))
}

// limit answers 429 to requests beyond n at the same time; n <= 0: none is.
func (a *api) limit(n int) gin.HandlerFunc {
	if n <= 0 {
		return func(*gin.Context) {}
	}
	slots := make(chan struct{}, n)
	return func(c *gin.Context) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			c.Next()
		default:
			a.fail(c, errRateLimited)
		}
	}
}
