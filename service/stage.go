package service

import "time"

// Stage is one named way of placing an order. Stages are data: the ladder lists them in teaching order.
type Stage struct {
	Name   string
	Tracks []string // lesson, mistakes, database, production
	Parts
	Text   Texts
	Claims Claims
}

// Parts are what a stage is made of; the flags of the command line override them one by one.
type Parts struct {
	Lock        string        // kind of lock, as in lock.Kinds
	LockKey     string        // KeyVoucher, KeyUser, KeyPerRequest
	LockSpan    string        // SpanAround, SpanEarly, SpanLate
	OnLoss      string        // LossIgnore, LossStop
	StockUpdate string        // UpdateNaive, …
	Unique      bool          // the unique index for one order per user
	Path        string        // PathSync, PathGate, PathStream
	Wait        time.Duration // as lock.Options.Wait
	TTL         time.Duration // as lock.Options.TTL
	CASRetries  int           // attempts after the first of an optimistic stage
}

// Text explains a stage to a learner in one language.
type Text struct {
	Fixes       string `json:"fixes"`        // what it does better than the step before
	StillBreaks string `json:"still_breaks"` // where it fails
	Question    string `json:"question"`     // to think about before running it
	Answer      string `json:"answer"`
}

// Texts is a stage's text in both languages.
type Texts struct {
	EN Text `json:"en"`
	ZH Text `json:"zh"`
}

// Claim is what a stage declares for one scenario: outcomes that must and that may appear. An empty claim means ok.
type Claim struct {
	Must []string `json:"must,omitempty"`
	May  []string `json:"may,omitempty"`
	// NA is the reason why the stage can't run there, in English and Chinese; empty: it can.
	NA        string `json:"na,omitempty"`
	NAChinese string `json:"na_zh,omitempty"`
}

// Claims are a stage's claims by scenario, with what differs on an engine.
type Claims struct {
	On       map[string]Claim            `json:"on"`                  // scenario -> claim
	ByEngine map[string]map[string]Claim `json:"by_engine,omitempty"` // engine (sqlite, mariadb, mysql) -> scenario or "*" -> claim
}
