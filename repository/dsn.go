package repository

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/migrations"
)

// target is a parsed DSN: a SQLite file or a MySQL configuration.
type target struct {
	file  string        // path of the SQLite file
	mysql *mysql.Config // nil for SQLite
}

func (t target) engine() Engine {
	if t.mysql == nil {
		return SQLite
	}
	return MySQL // MariaDB is told apart by the server's version
}

func (t target) dialect() migrations.Dialect {
	if t.mysql == nil {
		return migrations.SQLite
	}
	return migrations.MySQL
}

// ErrDSN is wrapped when a database address can't be read. It carries no part of the address, which may hold a password.
var ErrDSN = errors.New("not a database address; want sqlite:///abs/path.db, mysql://user:password@host:port/db " +
	"or user:password@tcp(host:port)/db")

func parseDSN(dsn string) (target, error) {
	switch scheme, rest, found := strings.Cut(dsn, "://"); {
	case found && scheme == "sqlite":
		if !strings.HasPrefix(rest, "/") || len(rest) < 2 {
			return target{}, fmt.Errorf("%w: a SQLite path must be absolute", ErrDSN)
		}
		return target{file: rest}, nil
	case found && (scheme == "mysql" || scheme == "mariadb"):
		return parseMySQLURL(dsn)
	case found && !strings.ContainsAny(scheme, "@/("):
		return target{}, fmt.Errorf("%w: unknown scheme %q", ErrDSN, scheme)
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil || cfg.DBName == "" || !strings.ContainsAny(dsn, "@(") {
		return target{}, ErrDSN
	}
	return mysqlTarget(cfg), nil
}

// parseMySQLURL rewrites mysql://user:password@host:port/db?params as the driver's own form.
func parseMySQLURL(dsn string) (target, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return target{}, ErrDSN // url's own error would show the password
	}
	// The query is parsed by the driver, which knows its parameters; the rest is set as is.
	cfg, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return target{}, fmt.Errorf("%w: bad parameter", ErrDSN)
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr += ":3306"
	}
	cfg.DBName = strings.Trim(u.Path, "/")
	return mysqlTarget(cfg), nil
}

// mysqlTarget sets what the program relies on, whatever the DSN says.
func mysqlTarget(cfg *mysql.Config) target {
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	// RowsAffected counts the rows that matched. Without it, writing a value that is there already looks like a
	// row that is missing or fenced off.
	cfg.ClientFoundRows = true
	cfg.Logger = &mysql.NopLogger{} // what it would print is returned as an error as well
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second // of dialing
	}
	return target{mysql: cfg}
}
