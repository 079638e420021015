// Package router is the HTTP side of the service: it reads requests, calls service and writes answers. Which error is
// which status is decided in errors.go, and nowhere else.
package router

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

// Options is what the handlers work with.
type Options struct {
	Placer   *service.Placer
	Vouchers *service.Vouchers
	// Stage is the way orders are placed.
	Stage service.Stage
	// StageFor finds the stage that a request in lab mode names with ?stage=. Default service.StageByName.
	StageFor func(name string) (service.Stage, error)
	// Ready tells whether the database and Redis answer. Default: always.
	Ready func(context.Context) error

	// Lab opens what only a lab may do: users by header, admin for everybody, ?stage=, resets and lists.
	Lab bool
	// Sell and Spans serve lab mode; nil leaves their routes out.
	Sell  *service.Sell
	Spans *service.Spans
	// Engines are shown in lab mode to load generators on other hosts; nil leaves the route out.
	Engines *Engines
	// Signer checks bearer tokens. Required outside of lab mode.
	Signer *Signer

	// Life pays and cancels orders, Preheater makes gates; nil leaves their routes out.
	Life      *service.Life
	Preheater *service.Preheater
	// Idempotency answers for Idempotency-Key; nil ignores the header.
	Idempotency *service.Idempotency
	// Queue is the order stream, for readyz; nil: there is none.
	Queue QueueDepths

	// Runs runs stages for the page in lab mode; nil leaves its routes out.
	Runs Runs
	// Sources finds the files that a stage is made of; nil leaves the route out.
	Sources func(service.Stage) ([]SourceFile, error)

	// Metrics count orders and are served at /metrics; nil leaves the route out.
	Metrics *Metrics

	// MaxInFlight bounds the API requests that are served at the same time; those beyond are answered 429.
	// Default 0: no bound.
	MaxInFlight int
	// Log gets one line per failure and, when it is enabled for debug at the start, one per request.
	// Default slog.Default().
	Log *slog.Logger
}

// api holds the handlers.
type api struct {
	Options
	auth auth
}

// New builds the handler of the whole service. It fails when the options can't be served safely.
func New(o Options) (http.Handler, error) {
	a := &api{Options: o, auth: labAuth{}}
	if !o.Lab {
		if o.Signer == nil {
			return nil, errors.New("router: outside of lab mode a token secret is required")
		}
		a.auth = tokenAuth{o.Signer}
	}
	if a.Log == nil {
		a.Log = slog.Default()
	}
	if a.StageFor == nil {
		a.StageFor = service.StageByName
	}
	return a.engine()
}

func (a *api) engine() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	e.RedirectTrailingSlash = false
	e.HandleMethodNotAllowed = true
	e.Use(requestID, a.recovery)
	if a.Log.Enabled(context.Background(), slog.LevelDebug) {
		e.Use(a.accessLog)
	}
	e.NoRoute(a.handle(func(*gin.Context) error { return errNoRoute }))
	e.NoMethod(a.handle(func(*gin.Context) error { return errNoMethod }))
	a.routes(e)
	return e, nil
}

func (a *api) routes(e *gin.Engine) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(method, "/healthz", a.handle(a.health))
		e.Handle(method, "/readyz", a.handle(a.ready))
	}
	e.GET("/openapi.json", a.handle(openAPI))
	a.pageRoutes(e)
	if a.Metrics != nil {
		e.GET("/metrics", gin.WrapH(a.Metrics.Handler()))
	}
	limit := a.limit(a.MaxInFlight)
	v1 := e.Group("/api/v1", limit)
	v1.POST("/vouchers", a.handle(a.createVoucher))
	v1.GET("/vouchers", a.handle(a.listVouchers))
	v1.GET("/vouchers/:id", a.handle(a.getVoucher))
	v1.GET("/vouchers/:id/audit", a.handle(a.audit))
	v1.POST("/vouchers/:id/orders", a.handle(a.placeOrder))
	v1.GET("/orders/:id", a.handle(a.getOrder))
	v1.GET("/stages", a.handle(a.stages))
	a.pageData(v1)
	if a.Life != nil {
		v1.POST("/orders/:id/pay", a.handle(a.payOrder))
		v1.POST("/orders/:id/cancel", a.handle(a.cancelOrder))
	}
	if a.Preheater != nil {
		v1.POST("/vouchers/:id/preheat", a.handle(a.preheat))
	}
	if !a.Lab {
		return
	}
	v1.POST("/vouchers/:id/reset", a.handle(a.resetVoucher))
	v1.GET("/vouchers/:id/orders", a.handle(a.listOrders))
	if a.Spans != nil {
		v1.GET("/lab/spans", a.handle(a.listSpans))
	}
	if a.Engines != nil {
		v1.GET("/lab/engines", a.handle(a.showEngines))
	}
	if a.Runs != nil {
		a.runRoutes(v1)
	}
	if a.Sell != nil {
		a.sellRoutes(e.Group("/", limit))
	}
}

// handle makes a gin handler of a function that returns its failure, so that every failure is answered in one place.
func (a *api) handle(f func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := f(c); err != nil {
			a.fail(c, err)
		}
	}
}
