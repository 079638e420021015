package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// remoteTimeout bounds one question to a server that runs elsewhere.
const remoteTimeout = 10 * time.Second

// Remote drives lab servers that run elsewhere and share a database. It implements Fleet, starts nothing and stops
// nothing: a request names its stage.
type Remote struct{ URLs []string }

// ParseTargets reads base URLs, such as http://127.0.0.1:8081, separated by commas. What it refuses is an ErrConfig.
func ParseTargets(list string) ([]string, error) {
	var targets []string
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
			return nil, bad("target %q is not the base URL of a server, such as http://127.0.0.1:8081", text)
		case u.User != nil:
			return nil, bad("a target must not carry a password")
		case slices.Contains(targets, text):
			return nil, bad("target %q is named twice", text)
		}
		targets = append(targets, text)
	}
	if len(targets) > maxProcesses {
		return nil, bad("%d targets, allowed are 1 to %d", len(targets), maxProcesses)
	}
	return targets, nil
}

// Check makes sure that every server answers, is in lab mode, and knows the stages. The error names the first that does
// not, and why.
func (r Remote) Check(ctx context.Context, stages []string) error {
	client := newClient(ctx, 1, remoteTimeout)
	defer client.CloseIdleConnections()
	a := &api{client: client}
	for _, base := range r.URLs {
		if err := a.checkTarget(ctx, base, stages); err != nil {
			return fmt.Errorf("target %s: %w", base, err)
		}
	}
	return nil
}

type stageName struct {
	Name string `json:"name"`
}

func (a *api) checkTarget(ctx context.Context, base string, stages []string) error {
	status, body, err := a.send(ctx, http.MethodGet, base+"/api/v1/stages", nil, nil)
	if err != nil {
		return fmt.Errorf("no answer: %w", cause(err))
	}
	var known []stageName
	if status != http.StatusOK || json.Unmarshal(body, &known) != nil {
		return fmt.Errorf("it is no seckill server: /api/v1/stages answers %d", status)
	}
	for _, stage := range stages {
		if !slices.Contains(known, stageName{stage}) {
			return fmt.Errorf("it does not know the stage %s", stage)
		}
	}
	// Only a lab shows its spans, and only a lab lets a request choose its user and its stage.
	if status, _, err = a.send(ctx, http.MethodGet, base+"/api/v1/lab/spans?voucher=1", nil, nil); err != nil {
		return fmt.Errorf("no answer: %w", cause(err))
	}
	if status != http.StatusOK {
		return errors.New("it is not in lab mode; start it with --lab")
	}
	return nil
}

// RemoteEngines are the kinds and versions of engines as the servers tell them, such as mariadb and 11.4.2.
type RemoteEngines struct {
	Redis Engine `json:"redis"`
	DB    Engine `json:"db"`
}

// Engines asks all servers what they store their data in. Servers that differ can't be one sale.
func (r Remote) Engines(ctx context.Context) (RemoteEngines, error) {
	client := newClient(ctx, 1, remoteTimeout)
	defer client.CloseIdleConnections()
	a := &api{client: client}
	var all RemoteEngines
	for i, base := range r.URLs {
		var one RemoteEngines
		if err := a.call(ctx, http.MethodGet, base+"/api/v1/lab/engines", nil, &one); err != nil {
			return RemoteEngines{}, fmt.Errorf("target %s does not tell its engines: %w", base, err)
		}
		if i > 0 && one != all {
			return RemoteEngines{}, fmt.Errorf("target %s is on %s and %s, another one on %s and %s", base,
				one.Redis.name(), one.DB.name(), all.Redis.name(), all.DB.name())
		}
		all = one
	}
	return all, nil
}

func (e Engine) name() string { return strings.TrimSpace(e.Kind + " " + e.Version) }

// cause is an HTTP client's error without the URL, which the caller names.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Start implements Fleet: the first servers, as many as the row asks for.
func (r Remote) Start(_ context.Context, s Spec) (Crew, error) {
	if s.Processes > len(r.URLs) {
		return nil, fmt.Errorf("%d servers are needed, %d are named", s.Processes, len(r.URLs))
	}
	return remoteCrew(r.URLs[:s.Processes]), nil
}

// remoteCrew are servers of somebody else: whether they live shows in their answers alone.
type remoteCrew []string

var errNotOurs = errors.New("the server was not started by compare")

func (c remoteCrew) URLs() []string                 { return c }
func (c remoteCrew) Dead(int) bool                  { return false }
func (c remoteCrew) Deaths() map[int]string         { return map[int]string{} }
func (c remoteCrew) Said(int) string                { return "" }
func (c remoteCrew) Stopped() int                   { return 0 }
func (c remoteCrew) Kill(int) error                 { return errNotOurs }
func (c remoteCrew) Pause(int, time.Duration) error { return errNotOurs }
func (c remoteCrew) Stop()                          {}

// oneClock tells whether the times that the servers record can be compared: they run on one host.
func (p Plan) oneClock() bool {
	host := ""
	for i, target := range p.Targets {
		u, err := url.Parse(target)
		if err != nil {
			return false
		}
		name := u.Hostname()
		if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
			name = "loopback"
		}
		if i > 0 && name != host {
			return false
		}
		host = name
	}
	return true
}
