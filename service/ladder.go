package service

import (
	"slices"
	"strings"
	"time"
)

// Names of the tracks: selections of the ladder.
const (
	Lesson     = "lesson"     // the steps, each of which fixes what the one before breaks
	Mistakes   = "mistakes"   // the broken twins
	Database   = "database"   // what the database does by itself
	Production = "production" // what one would deploy
)

// DefaultStage is what serve runs when no stage is named.
const DefaultStage = "conditional"

// ladder lists the stages in teaching order. Their claims are in claims.go, their texts in texts_en.go and texts_zh.go.
var ladder = []Stage{
	stage("none", Lesson, teach("none")),
	stage("mutex", Lesson, teach("mutex")),
	stage("mutex-early", Mistakes, teach("mutex").with(func(p *Parts) { p.LockSpan = SpanEarly })),
	stage("mutex-late", Mistakes, teach("mutex").with(func(p *Parts) { p.LockSpan = SpanLate })),
	stage("mutex-user", Mistakes, teach("mutex").with(func(p *Parts) { p.LockKey, p.StockUpdate = KeyUser, UpdateConditional })),
	stage("hash", Mistakes, teach("hash")),
	stage("incr", Mistakes, teach("incr")),
	stage("setnx", Lesson, teach("setnx")),
	stage("setnx-expire", Mistakes, teach("setnx-expire")),
	stage("setnx-repair", Mistakes, teach("setnx-repair")),
	stage("expire", Lesson, teach("expire")),
	stage("token", Mistakes, teach("token")),
	stage("lua-once", Mistakes, teach("lua").with(func(p *Parts) { p.Wait = 0 })),
	stage("lua", Lesson, teach("lua")),
	stage("wrong-key", Mistakes, teach("lua").with(func(p *Parts) { p.LockKey = KeyPerRequest })),
	stage("user-lock", Mistakes, teach("lua").with(func(p *Parts) {
		p.LockKey, p.StockUpdate, p.Wait, p.TTL = KeyUser, UpdateConditional, 0, 5*time.Second
	})),
	stage("reentrant-simple", Mistakes, teach("reentrant-simple")),
	stage("reentrant", Lesson, teach("reentrant")),
	stage("watchdog", Lesson, heed("watchdog")),
	stage("redislock", Production, heed("redislock")),
	stage("redlock", Production, heed("redlock").with(func(p *Parts) { p.Wait, p.TTL = 500*time.Millisecond, 10*time.Second })),
	stage("fenced", Lesson+" "+Production, heed("fenced")),
	stage("get-lock", Database, heed("get-lock")),
	stage("for-update", Database, own(UpdateForUpdate)),
	stage("cas", Database+" "+Mistakes, own(UpdateCAS)),
	stage("cas-retry", Database+" "+Production, own(UpdateCAS).with(func(p *Parts) { p.CASRetries = 200 })),
	stage("conditional", Lesson+" "+Database+" "+Production, own(UpdateConditional)),
	stage("skip-locked", Database+" "+Production, own(UpdateSkipLocked)),
	stage("gate", Production, own(UpdateConditional).with(func(p *Parts) { p.Path = PathGate })),
	stage("stream", Production, own(UpdateConditional).with(func(p *Parts) { p.Path = PathStream })),
}

// teach is a stage whose lock alone is judged: naive stock, no unique index, and nobody looks whether the lease lasts.
func teach(lock string) Parts {
	return Parts{
		Lock: lock, LockKey: KeyVoucher, LockSpan: SpanAround, OnLoss: LossIgnore,
		StockUpdate: UpdateNaive, Path: PathSync, Wait: 5 * time.Second, TTL: 10 * time.Second,
	}
}

// heed is teach with work that stops when the lease is lost.
func heed(lock string) Parts {
	return teach(lock).with(func(p *Parts) { p.OnLoss, p.TTL = LossStop, 30*time.Second })
}

// own is a stage without a lock of ours: the database's rows and its unique index do the work.
func own(update string) Parts {
	return teach("none").with(func(p *Parts) { p.StockUpdate, p.Unique = update, true })
}

func (p Parts) with(change func(*Parts)) Parts {
	change(&p)
	return p
}

func stage(name, tracks string, p Parts) Stage {
	return Stage{Name: name, Tracks: strings.Fields(tracks), Parts: p, Text: textFor(name), Claims: claimsFor(name)}
}

// Ladder is every stage in teaching order. The slice is the caller's.
func Ladder() []Stage { return slices.Clone(ladder) }

// Track is the stages of one track in teaching order; empty for a track that is none of Tracks.
func Track(name string) []Stage {
	return slices.DeleteFunc(Ladder(), func(s Stage) bool { return !slices.Contains(s.Tracks, name) })
}

// Tracks are the names of the tracks.
func Tracks() []string { return []string{Lesson, Mistakes, Database, Production} }

// Names are the stages' names in teaching order.
func Names() []string {
	names := make([]string, len(ladder))
	for i, s := range ladder {
		names[i] = s.Name
	}
	return names
}

// StageByName finds a stage; an unknown name is ErrInvalid and lists the known ones.
func StageByName(name string) (Stage, error) {
	for _, s := range ladder {
		if s.Name == name {
			return s, nil
		}
	}
	return Stage{}, invalid("stage %q is none of %s", name, strings.Join(Names(), ", "))
}
