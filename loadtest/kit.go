package loadtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Files of a kit. All but the results are written by WriteKit.
const (
	kitFile     = "kit.json"
	usersFile   = "users.json"
	targetsFile = "targets.json"
)

// ErrKit is wrapped by everything that makes a kit unfit for a load test.
var ErrKit = errors.New("this load test would prove nothing")

// Kit is a set of ready requests for one voucher, to be sent by vegeta, k6 or another program. On disk it is a folder:
// kit.json is this value, users.json has the headers of each user, and targets.json the requests, one a line, in the
// JSON form of vegeta's targets. The files hold credentials and are readable by their owner alone.
type Kit struct {
	Voucher string `json:"voucher"`
	// Stage is asked for in every request, which only servers in lab mode allow. Empty: the servers' own.
	Stage string `json:"stage"`
	// InitialStock is the voucher's, as the service says.
	InitialStock int `json:"initial_stock"`
	Users        int `json:"users"`
	// Clicks is how many requests each user sends, one after the other in targets.json and to different targets.
	Clicks   int `json:"clicks"`
	Requests int `json:"requests"`
	// Targets are the base URLs of the servers.
	Targets []string `json:"targets"`
	// Admin are the headers with which the audit may be read.
	Admin map[string]string `json:"admin"`
}

// Identify gives the headers by which the service knows a user.
type Identify func(user int64) (map[string]string, error)

// validate fills Requests in and refuses what can't be written.
func (k *Kit) validate() error {
	if k.Users < 1 || k.Users > maxUsers {
		return fmt.Errorf("%w: %d users; allowed are 1 to %d", ErrKit, k.Users, maxUsers)
	}
	if k.Clicks < 1 || k.Clicks > maxClicks {
		return fmt.Errorf("%w: %d clicks per user; allowed are 1 to %d", ErrKit, k.Clicks, maxClicks)
	}
	if len(k.Targets) == 0 {
		return fmt.Errorf("%w: no server is named", ErrKit)
	}
	k.Requests = k.Users * k.Clicks
	if k.Admin == nil {
		k.Admin = map[string]string{}
	}
	return k.preflight(k.Users, k.Requests, k.Requests)
}

// preflight refuses the usual mistakes of such a test: one identity for all, not more users than units, and fewer
// targets than requests, which vegeta answers by silently starting again at the first one.
func (k Kit) preflight(users, targets, requests int) error {
	switch {
	case requests > targets:
		return fmt.Errorf("%w: %d requests but %d targets; the first ones would be sent again. Make a larger kit, or send less",
			ErrKit, requests, targets)
	case users == 1 && requests > 1:
		return fmt.Errorf("%w: every request carries the same user; all but one would be refused as a second order", ErrKit)
	case users <= k.InitialStock:
		return fmt.Errorf("%w: %d distinct users for %d units; an oversell could not show. There must be more users than stock",
			ErrKit, users, k.InitialStock)
	}
	return nil
}

// WriteKit makes the folder dir, which may exist already, and writes the kit for the users first, first+1, … into it.
func WriteKit(dir string, k Kit, first int64, identify Identify) error {
	if err := k.validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	headers := make([]map[string]string, k.Users)
	for i := range headers {
		h, err := identify(first + int64(i))
		if err != nil {
			return err
		}
		headers[i] = h
	}
	if err := writeJSON(filepath.Join(dir, usersFile), headers); err != nil {
		return err
	}
	if err := k.writeTargets(filepath.Join(dir, targetsFile), first, headers); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, kitFile), k)
}

func writeJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o600)
}

func (k Kit) writeTargets(name string, first int64, headers []map[string]string) (err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	encode := vegeta.NewJSONTargetEncoder(w)
	for i, h := range headers {
		header := http.Header{}
		for name, value := range h {
			header.Set(name, value)
		}
		for n := range k.Clicks {
			t := vegeta.Target{Method: http.MethodPost, URL: k.url(i, n, first+int64(i)), Header: header}
			if err := encode(&t); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// url is where click n of the i-th user goes.
func (k Kit) url(i, n int, user int64) string {
	u := orderURL(k.Targets[(i+n)%len(k.Targets)], k.Voucher) + "?click=" + strconv.FormatInt(user, 10) + "." + strconv.Itoa(n+1)
	if k.Stage != "" {
		u += "&stage=" + k.Stage
	}
	return u
}

// ReadKit reads what WriteKit wrote.
func ReadKit(dir string) (Kit, error) {
	b, err := os.ReadFile(filepath.Join(dir, kitFile))
	if err != nil {
		return Kit{}, err
	}
	var k Kit
	if err := json.Unmarshal(b, &k); err != nil {
		return Kit{}, fmt.Errorf("%s: %w", kitFile, err)
	}
	return k, nil
}

// CheckKit refuses the kit in dir when its first requests targets do not make a test: it looks at what would really be
// sent, not at what kit.json says. 0 stands for all targets. It returns the kit and the number of requests.
func CheckKit(dir string, requests int) (Kit, int, error) {
	k, err := ReadKit(dir)
	if err != nil {
		return k, 0, err
	}
	f, err := os.Open(filepath.Join(dir, targetsFile))
	if err != nil {
		return k, 0, err
	}
	defer func() { _ = f.Close() }()
	next := vegeta.NewJSONTargeter(f, nil, nil)
	users, n := map[string]bool{}, 0
	for ; ; n++ {
		var t vegeta.Target
		if err := next(&t); errors.Is(err, vegeta.ErrNoTargets) || errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return k, 0, fmt.Errorf("%s, request %d: %w", targetsFile, n+1, err)
		}
		if requests == 0 || n < requests {
			users[identity(t.Header)] = true
		}
	}
	if requests == 0 {
		requests = n
	}
	return k, requests, k.preflight(len(users), n, requests)
}

// identity is what tells one user's requests from another's.
func identity(h http.Header) string {
	return strings.Join(append(h.Values("Authorization"), h.Values("X-User-ID")...), "\n")
}
