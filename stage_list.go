package main

import (
	"slices"
	"strings"
	"time"

	"seckill/loadtest"
	"seckill/service"
)

// parseStages reads a list of names of stages and tracks, or all. The result is in the order of the ladder, without
// doubles.
func parseStages(text string) ([]service.Stage, error) {
	wanted := map[string]bool{}
	names := list(text)
	if len(names) == 0 {
		return nil, usage("no stage in %q; `seckill stages` lists them", text)
	}
	for _, name := range names {
		found := service.Track(name)
		if name == "all" {
			found = service.Ladder()
		}
		if len(found) == 0 {
			stage, err := service.StageByName(name)
			if err != nil {
				return nil, usage("there is no stage or track %q; stages: %s; tracks: %s, all", name,
					strings.Join(service.Names(), ", "), strings.Join(service.Tracks(), ", "))
			}
			found = []service.Stage{stage}
		}
		for _, s := range found {
			wanted[s.Name] = true
		}
	}
	return slices.DeleteFunc(service.Ladder(), func(s service.Stage) bool { return !wanted[s.Name] }), nil
}

// measurable is what the load test has to know of the stages, with their claims on the engine.
func measurable(stages []service.Stage, engine string) []loadtest.Stage {
	var out []loadtest.Stage
	for _, s := range stages {
		m := loadtest.Stage{
			Name: s.Name, UserKeyed: s.LockKey == service.KeyUser, LocalLock: s.Lock == "mutex",
			OneTry: s.Wait == 0, Expires: expires(s.Lock), LongTTL: s.Lock == "reentrant-simple" || s.Lock == "redlock",
			FewOrders: fewOrders(s), TTL: s.TTL, Wait: s.Wait,
			Claims: map[string]loadtest.Claim{},
		}
		if s.Lock == "redlock" {
			m.MaxWorkers = 8
		}
		for _, scenario := range service.Scenarios() {
			c := s.Claims.For(engine, scenario)
			m.Claims[scenario] = loadtest.Claim{Must: c.Must, May: c.May, NA: c.NA, NAChinese: c.NAChinese}
		}
		out = append(out, m)
	}
	return out
}

// fewOrders: one try at a lock that everybody wants, one try at a version that everybody moves, whole batches, or a
// queue in the database, which may let one process have it all.
func fewOrders(s service.Stage) bool {
	oneTry := s.Wait == 0 && s.Lock != "none" && s.LockKey == service.KeyVoucher
	return oneTry || s.StockUpdate == service.UpdateCAS && s.CASRetries == 0 || s.Path == service.PathStream ||
		s.StockUpdate == service.UpdateForUpdate
}

// expires tells whether a lock has a TTL.
func expires(lock string) bool {
	return !slices.Contains([]string{"none", "mutex", "setnx", "get-lock"}, lock)
}

// picks decides which rows are run: the default set when nothing was asked for, every scenario for stages that were
// named, the default stages for scenarios that were named.
func picks(stages, scenarios string) ([]loadtest.Pick, []service.Stage, error) {
	if stages == "" && scenarios == "" {
		set := loadtest.DefaultSet()
		chosen, err := parseStages(stagesOf(set))
		return set, chosen, err
	}
	if stages == "" {
		stages = stagesOf(loadtest.DefaultSet())
	}
	if scenarios == "" {
		scenarios = "all"
	}
	chosen, err := parseStages(stages)
	if err != nil {
		return nil, nil, err
	}
	in, err := loadtest.ParseScenarios(scenarios)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	var rows []loadtest.Pick
	for _, s := range chosen {
		rows = append(rows, loadtest.Pick{Stage: s.Name, Scenarios: in})
	}
	return rows, chosen, nil
}

func stagesOf(set []loadtest.Pick) string {
	var names []string
	for _, p := range set {
		names = append(names, p.Stage)
	}
	return strings.Join(names, ",")
}

// seedOr is the seed that was asked for, or one from the clock.
func seedOr(asked uint64, now time.Time) uint64 {
	if asked != 0 {
		return asked
	}
	return uint64(now.UnixNano())
}
