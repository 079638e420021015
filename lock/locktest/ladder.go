package locktest

// Entry is one lock with its declaration.
type Entry struct {
	Name string
	Open Open
	Want Want
}

// Ladder lists the locks of package lock that live in Redis, in teaching order, with what they break and why.
func Ladder() []Entry {
	var all []Entry
	for _, name := range []string{"hash", "incr", "setnx", "setnx-expire", "setnx-repair", "expire", "token", "lua",
		"reentrant-simple", "reentrant", "watchdog", "redislock", "redlock", "fenced"} {
		w := Want{}
		if name == "redlock" {
			w.Nodes = 3
		}
		all = append(all, Entry{name, Kind(name), w})
	}
	return all
}
