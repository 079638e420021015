package backend

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// DBPrograms are the programs that SpawnDB looks for, in this order.
var DBPrograms = []string{"mariadbd", "mysqld"}

// SpawnDB initialises a database in a temporary directory, starts a server on it on a free loopback port and waits
// until it answers; about three seconds. 500 connections, REPEATABLE READ, user root without a password, an empty
// database "seckill". ErrMissing when no server is installed. ctx bounds the start alone.
//
// A commit survives the death of the server and not that of the machine (innodb_flush_log_at_trx_commit=2): the
// directory does not outlive the program anyway.
func SpawnDB(ctx context.Context) (*DB, error) {
	program, err := lookPath("apt-get install mariadb-server", DBPrograms...)
	if err != nil {
		return nil, err
	}
	var db *DB
	err = onFreePort(func(port int) (err error) {
		db, err = spawnDB(ctx, program, port)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("spawn database: %w", err)
	}
	return db, nil
}

func spawnDB(ctx context.Context, program string, port int) (_ *DB, err error) {
	dir, err := newTempDir()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir.path, "data")
	as, err := initialise(ctx, program, dir, data)
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	s, err := startServerAs(as, dir, program, serverArgs(dir.path, data, port)...)
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	db := &DB{DSN: fmt.Sprintf("mysql://root@127.0.0.1:%d/seckill", port), node: s}
	if err := s.waitReady(ctx, func(ctx context.Context) error { return db.ask(ctx, port, data) }); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return db, nil
}

func serverArgs(dir, data string, port int) []string {
	return []string{
		"--no-defaults", // must be the first: nothing of the machine's own configuration
		"--datadir=" + data,
		"--tmpdir=" + tmpOf(dir),
		"--socket=" + filepath.Join(data, "s.sock"),
		"--pid-file=" + filepath.Join(data, "pid"),
		"--init-file=" + filepath.Join(dir, "init.sql"),
		"--port=" + strconv.Itoa(port),
		"--bind-address=127.0.0.1",
		"--skip-networking=0",
		"--skip-name-resolve",
		"--skip-log-bin",
		"--max-connections=500",
		"--transaction-isolation=REPEATABLE-READ",
		"--innodb-flush-log-at-trx-commit=2",
	}
}

// initSQL runs in the server before it takes connections. Root may come over TCP, which without name resolution is
// not "localhost".
const initSQL = `CREATE USER IF NOT EXISTS root@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
CREATE DATABASE IF NOT EXISTS seckill CHARACTER SET utf8mb4;
`

// initialise makes the data directory and returns the account that the server has to run as: nil for our own, mysql
// when we are root, as which the server refuses to run.
func initialise(ctx context.Context, program string, dir *tempDir, data string) (*account, error) {
	if err := os.WriteFile(filepath.Join(dir.path, "init.sql"), []byte(initSQL), 0o644); err != nil {
		return nil, err
	}
	tmp := tmpOf(dir.path)
	if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(tmp, 0o700)); err != nil {
		return nil, err
	}
	var as *account
	if os.Geteuid() == 0 {
		var err error
		if as, err = giveTo("mysql", dir.path, data, tmp); err != nil {
			return nil, err
		}
	}
	install, args := program, []string{"--no-defaults", "--initialize-insecure"}
	if filepath.Base(program) == "mariadbd" {
		script, err := lookPath("apt-get install mariadb-server", "mariadb-install-db", "mysql_install_db")
		if err != nil {
			return nil, err
		}
		install = script
		args = []string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	}
	return as, run(ctx, as, tmp, install, append(args, "--datadir="+data)...)
}

// tmpOf is where the server that lives in dir keeps its temporary files. The usual directory may be one that the
// server's account can't write to.
func tmpOf(dir string) string { return filepath.Join(dir, "tmp") }

// giveTo makes data and tmp the user's and lets the user pass through dir.
func giveTo(name, dir, data, tmp string) (*account, error) {
	as, err := lookupAccount(name)
	if err != nil {
		return nil, fmt.Errorf("the server does not run as root, it needs the user %q: %w", name, err)
	}
	return as, errors.Join(os.Chmod(dir, 0o711), os.Chown(data, as.uid, as.gid), os.Chown(tmp, as.uid, as.gid))
}

// ask tells whether our own server answers on the port, by its data directory, and notes what it is.
func (d *DB) ask(ctx context.Context, port int, data string) error {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", fmt.Sprintf("127.0.0.1:%d", port)
	cfg.Logger = &mysql.NopLogger{}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	var version, dir string
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@datadir").Scan(&version, &dir); err != nil {
		return err
	}
	if filepath.Clean(dir) != filepath.Clean(data) {
		return fmt.Errorf("port %d is served by another database", port)
	}
	d.Kind = "mysql"
	if strings.Contains(version, "MariaDB") {
		d.Kind = "mariadb"
	}
	d.Version, _, _ = strings.Cut(version, "-")
	return nil
}
