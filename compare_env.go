package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"seckill/loadtest"
	"seckill/repository"
	"seckill/service"
)

// machine is what is known of this program and its host. A build without version control information has no commit.
func machine() loadtest.Env {
	env := loadtest.Env{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	info, _ := debug.ReadBuildInfo() // nil only for a program that was not built with modules
	if info == nil {
		return env
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			env.Commit = s.Value
		case "vcs.modified":
			env.Modified = s.Value == "true"
		}
	}
	return env
}

// environment asks the engines what they are. The second result is the engine whose claims hold.
func (e *engineFlags) environment(ctx context.Context, at addresses) (loadtest.Env, string, error) {
	env := machine()
	store, err := repository.Open(ctx, at.db, repository.Options{})
	if err != nil {
		return env, "", fmt.Errorf("database: %w", err)
	}
	defer func() { _ = store.Close() }()
	rdb, err := openRedis(at.redis)
	if err != nil {
		return env, "", err
	}
	defer func() { _ = rdb.Close() }()
	redisInfo, err := repository.NewRedis(rdb).Engine(ctx)
	if err != nil {
		return env, "", fmt.Errorf("redis does not answer: %w", err)
	}
	db := store.Engine()
	env.Redis = loadtest.Engine{Kind: kindOf(e.redis), Version: named(redisInfo)}
	env.DB = loadtest.Engine{Kind: kindOf(e.db), Version: named(db)}
	return env, service.EngineOf(db.Kind, db.Version), nil
}

func named(i repository.EngineInfo) string {
	if i.Version == "" {
		return i.Kind
	}
	return i.Kind + " " + i.Version
}
