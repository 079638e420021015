package main

import (
	"context"

	"seckill/loadtest"
	"seckill/service"
)

// rowRequest names one row of a comparison, to be run on engines that run.
type rowRequest struct {
	stage    service.Stage
	scenario string
	engine   string // whose claims hold, as engineFlags.environment says
	// config overrides the scenario's preset; its Stages and Picks are set here.
	config loadtest.Config
	watch  func(loadtest.Moment) // as loadtest.Runner.Watch; nil: nobody
}

// settings are the comparison that has this row alone.
func (r rowRequest) settings() loadtest.Config {
	c := r.config
	c.Stages = measurable([]service.Stage{r.stage}, r.engine)
	c.Picks = []loadtest.Pick{{Stage: r.stage.Name, Scenarios: []string{r.scenario}}}
	c.Repeat = 1
	return c
}

// plan is what will be run, or why it can't be: loadtest.ErrConfig.
func (r rowRequest) plan() (loadtest.Plan, error) {
	plans, err := r.settings().Plans()
	if err != nil {
		return loadtest.Plan{}, err
	}
	return plans[0], nil
}

// runRow starts servers for the row, drives its load, judges it, and stops the servers. All that it started has ended
// when it returns, also when ctx ends before the row does.
func runRow(ctx context.Context, at addresses, r rowRequest) (loadtest.Result, error) {
	plan, err := r.plan()
	if err != nil {
		return loadtest.Result{}, err
	}
	servers, err := newFleet(at)
	if err != nil {
		return loadtest.Result{}, err
	}
	defer servers.Close()
	runner := loadtest.Runner{Fleet: servers, Watch: r.watch}
	return runner.One(ctx, plan)
}
