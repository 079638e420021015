package service

import (
	"fmt"
	"slices"
	"strings"
)

// Outcomes of a run besides ok.
const (
	Oversold       = "oversold"
	Duplicates     = "duplicates"
	Undersold      = "undersold"
	Stuck          = "stuck"
	ForeignRelease = "foreign_release"
	Drift          = "drift"
	Unanswered     = "unanswered"
	Errors         = "errors"
)

// Engines of Claims.ByEngine.
const (
	SQLite  = "sqlite"
	MySQL   = "mysql"
	MariaDB = "mariadb"
	// MariaDBSnapshot is MariaDB from 11.6.2 on, which answers error 1020 where the others write over a row that has
	// changed since the transaction's snapshot (innodb_snapshot_isolation).
	MariaDBSnapshot = "mariadb-snapshot"
)

// EngineOf is the engine of a kind of database (sqlite, mysql, mariadb) and its version, as claims tell them apart.
func EngineOf(kind, version string) string {
	var major, minor, patch int
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	if kind != MariaDB || n < 2 || slices.Compare([]int{major, minor, patch}, []int{11, 6, 2}) < 0 {
		return kind
	}
	return MariaDBSnapshot
}

// Scenarios are the weathers that the claims speak of, in the order of the columns of the table below.
func Scenarios() []string { return []string{"single", "multi", "slow", "late", "crash", "nested"} }

// outcomeLetters abbreviate outcomes in the table below.
var outcomeLetters = map[rune]string{
	'O': Oversold, 'D': Duplicates, 'U': Undersold, 'S': Stuck, 'F': ForeignRelease, 'R': Drift,
	'A': Unanswered, 'E': Errors,
}

// claimTable is every claim: letters that must appear, then in parentheses those that may; "ok" is neither.
//
// A lost update leaves one order more than units gone from the column, so drift (R) may go with every naive oversell.
// After a crash the others wait out the dead holder's TTL and some of them may spend their wait on it: U.
// lua-once loses its lease in slow and late like lua, but so few get in that it undersells all the same.
// What a crash leaves of hash and incr is either stuck or freed by the DEL of another holder that was inside as well.
// In nested a lock without re-entry waits for itself until its wait is spent, so nothing is sold: U. Many waits end at one
// moment there, and one that ends between the two commands of hash or setnx-expire leaves the key without its expiry: S.
// What gate had admitted in a process that died goes back seconds later, when the buyers may have gone: U.
var claimTable = map[string][6]string{
	//                   single     multi      slow       late        crash       nested
	"none":             {"O(DR)", "O(DR)", "O(DR)", "O(DR)", "O(DR)", "O(DR)"},
	"mutex":            {"ok", "O(DR)", "O(DR)", "O(DR)", "(ODR)", "U"},
	"mutex-early":      {"O(DR)", "O(DR)", "O(DR)", "O(DR)", "O(DR)", "U"},
	"mutex-late":       {"O(DR)", "O(DR)", "O(DR)", "O(DR)", "O(DR)", "U"},
	"mutex-user":       {"ok", "D", "D", "D", "(D)", "U"},
	"hash":             {"O(DFR)", "O(DFR)", "O(DFR)", "O(DFR)", "(ODFRUS)", "U(ODFRS)"},
	"incr":             {"O(DFR)", "O(DFR)", "O(DFR)", "O(DFR)", "(ODFRUS)", "U(ODFR)"},
	"setnx":            {"ok", "ok", "ok", "ok", "S(U)", "U"},
	"setnx-expire":     {"ok", "ok", "O(DFR)", "OF(DR)", "S(U)", "U(S)"},
	"setnx-repair":     {"ok", "ok", "O(DFR)", "OF(DR)", "(U)", "U"},
	"expire":           {"ok", "ok", "OF(DR)", "OF(DR)", "(U)", "U"},
	"token":            {"ok", "ok", "O(DFR)", "OF(DR)", "(U)", "U"},
	"lua-once":         {"U", "U", "U(DR)", "U(DR)", "U", "U"},
	"lua":              {"ok", "ok", "O(DR)", "O(DR)", "(U)", "U"},
	"wrong-key":        {"O(DR)", "O(DR)", "O(DR)", "O(DR)", "O(DR)", "U"},
	"user-lock":        {"ok", "ok", "(D)", "(D)", "ok", "U"},
	"reentrant-simple": {"ok", "ok", "O(DR)", "O(DR)", "(U)", "ok"},
	"reentrant":        {"ok", "ok", "O(DR)", "O(DR)", "(U)", "ok"},
	"watchdog":         {"ok", "ok", "ok", "O(DR)", "(U)", "ok"},
	"redislock":        {"ok", "ok", "ok", "O(DR)", "(U)", "U"},
	"redlock":          {"ok", "ok", "ok", "O(DR)", "(U)", "ok"},
	"fenced":           {"ok", "ok", "ok", "ok", "(U)", "ok"},
	"get-lock":         {"ok", "ok", "ok", "ok", "ok", "U"},
	"for-update":       {"ok", "ok", "ok", "ok", "ok", "ok"},
	"cas":              {"U", "U", "U", "U", "U", "U"},
	"cas-retry":        {"ok", "ok", "ok", "ok", "ok", "ok"},
	"conditional":      {"ok", "ok", "ok", "ok", "ok", "ok"},
	"skip-locked":      {"ok", "ok", "ok", "ok", "ok", "ok"},
	"gate":             {"ok", "ok", "ok", "ok", "(U)", "ok"},
	"stream":           {"ok", "ok", "ok", "ok", "ok", "ok"},
}

// engineClaims is what differs on an engine; the scenario "*" stands for all of them.
var engineClaims = map[string]map[string]map[string]Claim{
	"mutex-late": {
		SQLite: {"*": na("SQLite has one writer: its transaction begins with the write lock, so no snapshot is older than the mutex",
			"SQLite 只有一个写者：事务一开始就拿到写锁，快照不可能早于互斥锁")},
		// The stale write is refused instead: nothing is sold twice, and who waited for the mutex was too late.
		MariaDBSnapshot: {"*": {May: []string{Undersold}}},
	},
	"get-lock":    {SQLite: {"*": na("SQLite has no GET_LOCK", "SQLite 没有 GET_LOCK")}},
	"for-update":  {SQLite: {"*": na("SQLite has no row locks (SELECT … FOR UPDATE)", "SQLite 没有行锁（SELECT … FOR UPDATE）")}},
	"skip-locked": {SQLite: {"*": na("SQLite has no row locks (SELECT … SKIP LOCKED)", "SQLite 没有行锁（SELECT … SKIP LOCKED）")}},
}

// na is the claim of a stage that the engine has no means for.
func na(en, zh string) Claim { return Claim{NA: en, NAChinese: zh} }

func claimsFor(name string) Claims {
	row, ok := claimTable[name]
	if !ok {
		panic("service: no claims for stage " + name)
	}
	on := make(map[string]Claim, len(row))
	for i, scenario := range Scenarios() {
		c, err := parseClaim(row[i])
		if err != nil {
			panic(fmt.Sprintf("service: claim of %s in %s: %v", name, scenario, err))
		}
		on[scenario] = c
	}
	return Claims{On: on, ByEngine: engineClaims[name]}
}

// parseClaim reads "ok" or "OF(DR)".
func parseClaim(s string) (Claim, error) {
	var c Claim
	if s == "ok" {
		return c, nil
	}
	must, may, has := strings.Cut(s, "(")
	if has != strings.HasSuffix(may, ")") || s == "" {
		return c, fmt.Errorf("%q is neither ok nor LETTERS(LETTERS)", s)
	}
	var err error
	if c.Must, err = outcomes(must); err != nil {
		return Claim{}, err
	}
	c.May, err = outcomes(strings.TrimSuffix(may, ")"))
	return c, err
}

func outcomes(letters string) ([]string, error) {
	var out []string
	for _, l := range letters {
		o, ok := outcomeLetters[l]
		if !ok {
			return nil, fmt.Errorf("unknown outcome %q", l)
		}
		out = append(out, o)
	}
	return out, nil
}

// For is the claim for a scenario on an engine: the engine's own where there is one.
func (c Claims) For(engine, scenario string) Claim {
	own := c.ByEngine[engine]
	for _, key := range []string{scenario, "*"} {
		if claim, ok := own[key]; ok {
			return claim
		}
	}
	return c.On[scenario]
}
