package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// keyCheck is how often the keys of an embedded Redis are counted.
const keyCheck = time.Second

// EmbeddedRedis serves nodes miniredis instances on loopback ports, for this process and its children. Their TTLs
// run with the real clock.
func EmbeddedRedis(nodes int) (*Redis, error) {
	r := &Redis{Kind: "miniredis"}
	for range nodes {
		m := miniredis.NewMiniRedis()
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			return nil, errors.Join(fmt.Errorf("embedded redis: %w", err), r.Stop())
		}
		clock := startClock(m, keyCheck)
		r.nodes = append(r.nodes, &embedded{close: func() error {
			clock.close()
			m.Close()
			return nil
		}})
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
