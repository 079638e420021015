package locktest

import "maps"

// Entry is one lock with its declaration.
type Entry struct {
	Name string
	Open Open
	Want Want
}

// Ladder lists the locks of package lock that live in Redis, in teaching order, with what they break and why.
func Ladder() []Entry {
	return []Entry{
		entry("hash", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, anyDel,
			reason("between its look and its HSET anybody comes in", "one-holder-between-commands"),
			reason("between HSET and PEXPIRE it has no expiry", "freed-after-crash-in-acquire")),
		entry("incr", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, anyDel,
			reason("a late SET 0 resets the counter under its holder", "one-holder-between-commands")),
		entry("setnx", 1, noFence, noReentry, noDeadline, plain, polls, anyDel, retried,
			reason("it has no expiry", "freed-after-crash", "freed-after-crash-in-acquire", "check-before-others", "max-hold",
				"silent-release", "one-lost-renewal", "long-pause", "demoted-server")),
		entry("setnx-expire", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, gap, retried,
			reason("between SETNX and PEXPIRE it has no expiry", "freed-after-crash-in-acquire")),
		entry("setnx-repair", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, gap, retried,
			reason("the repair starts the clock of a holder that is still between its commands", "one-holder-between-commands")),
		entry("expire", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, anyDel, retried),
		entry("token", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, gap, retried),
		entry("lua", 1, noFence, noReentry, noRenewal, noDeadline, plain, polls, retried),
		entry("reentrant-simple", 1, noFence, noRenewal, noDeadline, plain, polls, countsTwice, countsDown),
		entry("reentrant", 1, noFence, noRenewal, noDeadline, plain, countsTwice, countsDown),
		entry("watchdog", 1, noFence),
		entry("redislock", 1, noFence, noReentry, plain, polls,
			reason("it has no such limit", "max-hold"),
			reason("its refresher does not try again before the next third of the TTL", "one-lost-renewal")),
		entry("redlock", 3, noFence),
		entry("fenced", 1),
	}
}

var (
	noFence   = reason("it has no fencing token", "fence-grows", "fence-survives-flush")
	noReentry = reason("its own holder waits for itself", "re-entry")
	noRenewal = reason("nothing renews it", "renewal", "many-leases", "max-hold", "one-lost-renewal", "paused-server", "script-flush")
	// noDeadline: the caller must ask Check by itself.
	noDeadline = reason("nothing watches its deadline", "loss-ends-context", "unanswered-renewals")
	plain      = reason("its commands go out on the caller's goroutine, through the client as it is", "context-binds",
		"context-binds-without-time-outs", "release-binds", "lost-release-reply", "late-acquire-reply", "late-acquire-command")
	retried     = reason("go-redis' second SET NX finds the key that the first has made", "lost-acquire-reply")
	countsTwice = reason("a repeated HINCRBY counts twice", "lost-acquire-reply")
	countsDown  = reason("HINCRBY needs memory also to count down", "out-of-memory")
	polls       = reason("its waiters poll", "waiting-is-cheap", "contention-is-cheap")
	anyDel      = reason("its DEL asks nobody whose key it is", "no-foreign-release", "exact-token", "no-foreign-renewal")
	gap         = reason("its GET and its DEL are two commands", "no-foreign-release-in-gap")
)

// reason is a group of laws that are broken for one reason.
func reason(why string, laws ...string) map[string]string {
	group := map[string]string{}
	for _, l := range laws {
		group[l] = why
	}
	return group
}

func entry(name string, nodes int, groups ...map[string]string) Entry {
	w := Want{Nodes: nodes, Breaks: map[string]string{}, Skips: map[string]string{}}
	for _, g := range groups {
		maps.Copy(w.Breaks, g)
	}
	if nodes == 1 {
		w.Skips["frozen-node"] = "it lives in one server"
	}
	return Entry{name, Kind(name), w}
}
