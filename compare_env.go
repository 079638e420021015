package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"seckill/loadtest"
	"seckill/repository"
	"seckill/service"
)

// machine is what is known of this program and its host.
func machine(ctx context.Context) loadtest.Env {
	env := loadtest.Env{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				env.Commit = s.Value
			case "vcs.modified":
				env.Modified = s.Value == "true"
			}
		}
	}
	if exe, err := os.Executable(); err == nil && env.Commit == "" && strings.Contains(exe, "go-build") {
		env.Commit, env.Modified = workTree(ctx)
	}
	return env
}

// workTree is the commit of the folder that `go run .` has just built, which does not put it into the program. Empty
// where git does not know.
func workTree(ctx context.Context) (commit string, modified bool) {
	if mod, err := os.ReadFile("go.mod"); err != nil || !bytes.HasPrefix(mod, []byte("module seckill\n")) {
		return "", false
	}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	return strings.TrimSpace(string(head)), err != nil || len(changes) > 0
}

// environment asks the engines what they are. The second result is the engine whose claims hold.
func (e *engineFlags) environment(ctx context.Context, at addresses) (loadtest.Env, string, error) {
	env := machine(ctx)
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
