package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// EmbeddedRedis serves nodes miniredis instances on loopback ports, for this process and its children.
//
// miniredis does not run TTLs by itself. Its ClockTTL makes every access to a database first subtract the time
// that really passed, under the server's own lock: so a key is gone exactly when its TTL is over and never a
// moment earlier, which a goroutine that calls FastForward now and then could not promise.
func EmbeddedRedis(nodes int) (*Redis, error) {
	r := &Redis{Kind: "miniredis"}
	for range nodes {
		m := miniredis.NewMiniRedis()
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			return nil, errors.Join(fmt.Errorf("embedded redis: %w", err), r.Stop())
		}
		m.ClockTTL(true)
		r.nodes = append(r.nodes, &embedded{close: func() error { m.Close(); return nil }})
		r.URLs = append(r.URLs, "redis://"+m.Addr())
	}
	return r, nil
}

// EmbeddedDB names a SQLite file in a temporary directory; the first who opens it creates it.
func EmbeddedDB() (*DB, error) {
	dir, err := newTempDir()
	if err != nil {
		return nil, err
	}
	return &DB{
		Kind: "sqlite",
		DSN:  "sqlite://" + filepath.ToSlash(filepath.Join(dir.path, "seckill.db")),
		node: &embedded{close: dir.remove},
	}, nil
}

// embedded is a node inside this process.
type embedded struct {
	once  sync.Once
	close func() error
	err   error
}

func (e *embedded) stop() error {
	e.once.Do(func() { e.err = e.close() })
	return e.err
}

func (e *embedded) signal(os.Signal) error { return errEmbedded }
