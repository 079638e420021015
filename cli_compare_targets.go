package main

import (
	"context"

	"seckill/loadtest"
	"seckill/repository"
	"seckill/service"
)

// ownFlags are the settings of servers that compare starts. Servers that run elsewhere have their own.
var ownFlags = []string{"processes", "work", "ttl", "wait", "redis", "redlock-nodes", "db"}

// aim reads --targets, and refuses what can't be asked of servers that run elsewhere. Without --scenarios it takes the
// one that they can show.
func (c *compareFlags) aim() error {
	if c.targets == "" {
		return nil
	}
	targets, err := loadtest.ParseTargets(c.targets)
	if err != nil {
		return usage("--targets: %w", err)
	}
	for _, flag := range ownFlags {
		if c.changed(flag) {
			return usage("--%s is for servers that compare starts; those of --targets keep their own", flag)
		}
	}
	c.config.Targets = targets
	if c.scenarios == "" {
		c.scenarios = "multi"
		if len(targets) == 1 {
			c.scenarios = "single"
		}
	}
	return nil
}

// compareTargets drives servers that run elsewhere, on engines that they name.
func (c *compareFlags) compareTargets(ctx context.Context, stages []service.Stage, std stdio) error {
	servers := loadtest.Remote{URLs: c.config.Targets}
	var names []string
	for _, s := range stages {
		names = append(names, s.Name)
	}
	if err := servers.Check(ctx, names); err != nil {
		return interrupted(ctx, err)
	}
	engines, err := servers.Engines(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	env := machine(ctx)
	env.Redis = loadtest.Engine{Kind: "target", Version: named(repository.EngineInfo(engines.Redis))}
	env.DB = loadtest.Engine{Kind: "target", Version: named(repository.EngineInfo(engines.DB))}
	c.config.Stages = measurable(stages, service.EngineOf(engines.DB.Kind, engines.DB.Version))
	return c.measure(ctx, servers, env, std)
}
