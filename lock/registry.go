package lock

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Resources are what locks can live in; each kind takes what it needs.
type Resources struct {
	Redis redis.UniversalClient   // every Redis lock but redlock
	Nodes []redis.UniversalClient // redlock: independent servers, an odd number of them
	DB    *sql.DB                 // get-lock: a pool of its own, as every lease and every waiter takes a connection
}

// Opened is a locker with everything that it owns. The resources stay the caller's to close, afterwards.
type Opened struct {
	Locker
	close func(ctx context.Context) error
}

// Close ends all live leases with ErrClosed and waits for the lock's goroutines, at most until ctx ends.
func (o Opened) Close(ctx context.Context) error { return o.close(ctx) }

// kind is one entry of the registry.
type kind struct {
	name string
	open func(r Resources, o Options) (Opened, error)
}

// kinds is the registry, in teaching order.
var kinds = []kind{
	{"none", alone(none)},
	{"mutex", alone(mutex)},
	{"hash", onRedis((*Client).Hash)},
	{"incr", onRedis((*Client).Incr)},
	{"setnx", onRedis((*Client).SetNX)},
	{"setnx-expire", onRedis((*Client).SetNXExpire)},
	{"setnx-repair", onRedis((*Client).SetNXRepair)},
	{"expire", onRedis((*Client).Expire)},
	{"token", onRedis((*Client).Token)},
	{"lua", onRedis((*Client).Lua)},
	{"reentrant-simple", onRedis((*Client).ReentrantSimple)},
	{"reentrant", onRedis((*Client).Reentrant)},
	{"watchdog", onRedis((*Client).Watchdog)},
	{"redislock", onRedis((*Client).Redislock)},
	{"redlock", onNodes},
	{"fenced", onRedis((*Client).Fenced)},
	{"get-lock", onDatabase},
}

// Kinds lists the names that Open knows, in teaching order. "none" is a lock that keeps nobody out.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Open makes a lock by its name. The error of an unknown one lists the known; a resource that the kind needs and
// that is missing is named.
func Open(name string, r Resources, o Options) (Opened, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return Opened{}, fmt.Errorf("lock: unknown kind %q; known are %s", name, strings.Join(Kinds(), ", "))
	}
	opened, err := kinds[i].open(r, o)
	if err != nil {
		return Opened{}, fmt.Errorf("lock: %s: %w", name, err)
	}
	return opened, nil
}

func alone(make func(o Options, bg *background) Locker) func(Resources, Options) (Opened, error) {
	return func(_ Resources, o Options) (Opened, error) {
		bg := newBackground()
		return Opened{make(o.withDefaults(), bg), bg.close}, nil
	}
}

func onRedis(make func(*Client) Locker) func(Resources, Options) (Opened, error) {
	return func(r Resources, o Options) (Opened, error) {
		if r.Redis == nil {
			return Opened{}, fmt.Errorf("%w: needs Resources.Redis", ErrInvalid)
		}
		c := New(r.Redis, o)
		return Opened{make(c), c.Close}, nil
	}
}

func onNodes(r Resources, o Options) (Opened, error) {
	q, err := NewQuorum(r.Nodes, o)
	if err != nil {
		return Opened{}, err
	}
	return Opened{q, q.Close}, nil
}

func onDatabase(r Resources, o Options) (Opened, error) {
	if r.DB == nil {
		return Opened{}, fmt.Errorf("%w: needs Resources.DB", ErrInvalid)
	}
	g := NewGetLock(r.DB, o)
	return Opened{g, g.Close}, nil
}
