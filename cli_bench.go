package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/spf13/cobra"

	"seckill/loadtest"
	"seckill/router"
)

// benchFlags are the settings of a comparison with a handler that does nothing.
type benchFlags struct {
	engineFlags
	rounds     int
	requests   int
	workers    int
	minStream  float64
	minSoldOut float64
	json       bool
	bare       bool
}

func benchCommand(std stdio) *cobra.Command {
	b := &benchFlags{}
	cmd := command("bench", "Compare the stream handler and its sold-out answer with a bare Gin handler", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			if b.bare {
				return serveBare(cmd.Context(), std)
			}
			if err := b.validate(); err != nil {
				return err
			}
			return b.run(cmd.Context(), std)
		})
	cmd.Long = "Drives the same load at three handlers in turn, several rounds of each, and prints the median rates and their\n" +
		"ratios: a Gin handler that answers a constant, an order on the stream path (each by a new user, each admitted),\n" +
		"and an order on a voucher that is sold out. The server's own workers are off meanwhile, because they are another\n" +
		"process's work; afterwards one writes everything that was accepted, and the audit has to be clean."
	f := cmd.Flags()
	b.engineFlags.bind(f)
	_ = f.Lookup("redis").Value.Set(spawn)
	f.Lookup("redis").DefValue = spawn
	f.IntVar(&b.rounds, "rounds", 5, "rounds of each handler, interleaved")
	f.IntVar(&b.requests, "requests", 20000, "requests of a round")
	f.IntVar(&b.workers, "connections", 64, "connections of the load generator")
	f.Float64Var(&b.minStream, "min-stream", 0.5, "exit 1 when stream / bare is below")
	f.Float64Var(&b.minSoldOut, "min-sold-out", 0.8, "exit 1 when sold out / bare is below")
	f.BoolVar(&b.json, "json", false, "print JSON")
	f.BoolVar(&b.bare, "bare", false, "be the bare handler")
	_ = f.MarkHidden("bare")
	return cmd
}

func (b *benchFlags) validate() error {
	if b.rounds < 1 || b.rounds > 100 || b.requests < 100 || b.requests > 1_000_000 || b.workers < 1 || b.workers > 1024 {
		return usage("--rounds must be 1 to 100, --requests 100 to 1000000, --connections 1 to 1024")
	}
	return b.engineFlags.validate()
}

// serveBare serves a handler that answers what an accepted order is answered, without doing anything for it.
func serveBare(ctx context.Context, std stdio) error {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	answer := map[string]string{"order_id": "385905838302167040", "status": "pending"}
	e.POST("/api/v1/vouchers/:id/orders", func(c *gin.Context) { c.JSON(http.StatusAccepted, answer) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go endWith(std.in, cancel)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	eventWriter(std.out)(event{Event: eventListening, URL: "http://" + l.Addr().String()})
	return router.NewServer(e, router.ServerOptions{}).Serve(ctx, l)
}

// benchResult is what a bench prints.
type benchResult struct {
	Rounds   int                  `json:"rounds"`
	Requests int                  `json:"requests"`
	Rates    map[string][]float64 `json:"rates"`  // requests/s of each round, in their order
	Median   map[string]float64   `json:"median"` // of those
	// Ratios are medians of the rounds' own ratios: handlers of one round ran within seconds of each other.
	StreamRatio  float64 `json:"stream_ratio"`
	SoldOutRatio float64 `json:"sold_out_ratio"`
	Orders       int     `json:"orders"`   // accepted, and written afterwards
	WriteMS      int64   `json:"write_ms"` // how long that took one worker
	Drift        int     `json:"drift"`
}

func (r *benchResult) conclude() {
	r.Median = map[string]float64{}
	ratio := func(name string) float64 {
		var each []float64
		for i, bare := range r.Rates[benchBare] {
			each = append(each, r.Rates[name][i]/bare)
		}
		return loadtest.Median(each)
	}
	for name, rates := range r.Rates {
		r.Median[name] = loadtest.Median(rates)
	}
	r.StreamRatio, r.SoldOutRatio = ratio(benchStream), ratio(benchSoldOut)
}

func (r *benchResult) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	_, err := fmt.Fprintf(w, "%-28s %12s %8s\n%-28s %12.0f %8.2f\n%-28s %12.0f %8.2f\n%-28s %12.0f %8.2f\n"+
		"%d rounds of %d requests each; afterwards one worker wrote all %d accepted orders in %d ms, drift %d\n",
		"handler", "requests/s", "ratio",
		"bare Gin handler", r.Median[benchBare], 1.0,
		"stream, order accepted", r.Median[benchStream], r.StreamRatio,
		"stream, sold out", r.Median[benchSoldOut], r.SoldOutRatio,
		r.Rounds, r.Requests, r.Orders, r.WriteMS, r.Drift)
	return err
}

// verdict fails a bench that missed its bounds.
func (b *benchFlags) verdict(r *benchResult) error {
	var errs []error
	if r.StreamRatio < b.minStream {
		errs = append(errs, fmt.Errorf("stream / bare is %.2f, below %.2f", r.StreamRatio, b.minStream))
	}
	if r.SoldOutRatio < b.minSoldOut {
		errs = append(errs, fmt.Errorf("sold out / bare is %.2f, below %.2f", r.SoldOutRatio, b.minSoldOut))
	}
	if r.Drift != 0 {
		errs = append(errs, fmt.Errorf("drift is %d", r.Drift))
	}
	if err := errors.Join(errs...); err != nil {
		return failed(err)
	}
	return nil
}
