package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"

	"seckill/service"
)

// serveFlags are the settings of one server.
type serveFlags struct {
	engineFlags
	addr        string
	process     string
	stage       string
	parts       partFlags
	life        lifeFlags
	work        time.Duration
	lab         *switchFlag
	nested      bool
	holds       []string
	secret      string
	maxInflight int
	maxConns    int
	lockConns   int
	nodeTimeout time.Duration
	lockRange   int64
	parentPipe  bool
	logLevel    *choice
}

// partFlags override the parts of a stage. Empty: as the stage says.
type partFlags struct {
	lock, key, span, onLoss, update, path string
	unique                                *switchFlag
	wait, ttl                             optional
	casRetries                            int
}

func (s *serveFlags) bind(f *pflag.FlagSet) {
	s.engineFlags.bind(f)
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes any free port")
	f.StringVar(&s.process, "process", "p1", "name of this process in spans")
	f.StringVar(&s.stage, "stage", service.DefaultStage, "how orders are placed; seckill stages lists the names")
	f.DurationVar(&s.work, "work", 0, "how long every order computes between its reads and its write")
	s.lab = onOff(f, "lab", "lab mode: users by header, ?stage=, resets; auto: on with started engines on loopback")
	f.BoolVar(&s.nested, "nested", false, "lab: the order check and the save each take the lock")
	f.StringArrayVar(&s.holds, "hold", nil, "lab: POINT=ACTION[:DURATION][,skip=N][,times=N], repeatable")
	f.StringVar(&s.secret, "token-secret", "", "secret of bearer tokens, at least 32 bytes; required outside of lab mode")
	f.IntVar(&s.maxInflight, "max-inflight", 0, "API requests served at the same time; 0: no bound")
	f.IntVar(&s.maxConns, "db-conns", 0, "connections to the database; 0: 64 (SQLite: 8 readers)")
	f.IntVar(&s.lockConns, "lock-conns", 64, "connections of the get-lock pool: one for each holder and waiter")
	f.DurationVar(&s.nodeTimeout, "redlock-node-timeout", 50*time.Millisecond, "how long redlock waits for one node")
	f.Int64Var(&s.lockRange, "lock-range", 1, "how many callers the incr lock lets in")
	f.BoolVar(&s.parentPipe, "parent-pipe", false, "end when stdin closes")
	_ = f.MarkHidden("parent-pipe") // it is there for the parent of a child process
	s.logLevel = choiceFlag(f, "log-level", "info", []string{"debug", "info", "warn", "error"}, "what is logged to stderr")
	s.parts.bind(f)
	s.life.bind(f)
}

func (p *partFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&p.lock, "lock", "", "override the stage's lock")
	f.StringVar(&p.key, "lock-key", "", "override what the lock's key is made of: voucher, user, per-request")
	f.StringVar(&p.span, "lock-span", "", "override what the lock is held around: around, early, late")
	f.StringVar(&p.onLoss, "on-loss", "", "override what happens when the lease is lost: ignore, stop")
	f.StringVar(&p.update, "stock-update", "", "override the update: naive, conditional, cas, for-update, skip-locked")
	f.StringVar(&p.path, "path", "", "override the path of an order: sync, gate, stream")
	p.unique = onOff(f, "unique", "override the unique index for one order per user")
	f.Var(&p.wait, "wait", "override how long an order waits for the lock; 0s: one try, negative: as long as the request")
	f.Var(&p.ttl, "ttl", "override the lock's TTL")
	f.IntVar(&p.casRetries, "cas-retries", -1, "override the attempts after the first of an optimistic stage")
}

// apply changes the parts that were given. It checks nothing: the result is checked as a whole.
func (p *partFlags) apply(to *service.Parts) {
	for _, o := range []struct {
		given string
		to    *string
	}{
		{p.lock, &to.Lock}, {p.key, &to.LockKey}, {p.span, &to.LockSpan}, {p.onLoss, &to.OnLoss},
		{p.update, &to.StockUpdate}, {p.path, &to.Path},
	} {
		if o.given != "" {
			*o.to = o.given
		}
	}
	if p.unique.on != nil {
		to.Unique = *p.unique.on
	}
	if p.wait.d != nil {
		to.Wait = *p.wait.d
	}
	if p.ttl.d != nil {
		to.TTL = *p.ttl.d
	}
	if p.casRetries >= 0 {
		to.CASRetries = p.casRetries
	}
}

// chosen is the stage with its overrides.
func (s *serveFlags) chosen() (service.Stage, error) {
	stage, err := service.StageByName(s.stage)
	if err != nil {
		return stage, usage("%w", err)
	}
	s.parts.apply(&stage.Parts)
	if err := stage.Validate(); err != nil {
		return stage, usage("%w", err)
	}
	return stage, nil
}

// labMode is the switch, or by default on when nothing that somebody else uses can be touched.
func (s *serveFlags) labMode() bool {
	if s.lab.on != nil {
		return *s.lab.on
	}
	return started(s.redis) && started(s.db) && onLoopback(s.addr)
}

func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// validate refuses what can't be served, before anything is started.
func (s *serveFlags) validate() error {
	if _, _, err := net.SplitHostPort(s.addr); err != nil {
		return usage("--addr %q is not host:port", s.addr)
	}
	if s.work < 0 || s.maxInflight < 0 || s.maxConns < 0 || s.lockConns < 1 || s.nodeTimeout <= 0 || s.lockRange < 1 {
		return usage("--work, --max-inflight and --db-conns can't be negative, --lock-conns, --redlock-node-timeout and " +
			"--lock-range must be positive")
	}
	lab := s.labMode()
	if !lab && (len(s.holds) > 0 || s.nested) {
		return usage("--hold and --nested are for lab mode only; this server is not in it (--lab)")
	}
	if !lab && s.secret == "" {
		return usage("outside of lab mode --token-secret is required; --lab opens the lab for everybody who reaches %s", s.addr)
	}
	for _, h := range s.holds {
		if _, err := parseHold(h); err != nil {
			return usage("%w", err)
		}
	}
	return errors.Join(s.life.validate(), s.engineFlags.validate())
}

// validate refuses an address that can't be one.
func (e *engineFlags) validate() error {
	for _, a := range append(list(e.nodes), e.redis) {
		if started(a) {
			continue
		}
		c, err := openRedis(a)
		if err != nil {
			return err
		}
		_ = c.Close()
	}
	return nil
}

// logger logs to stderr, so that stdout carries events alone.
func (s *serveFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.logLevel.value)) // one of four known words
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
