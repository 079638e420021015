package repository

import (
	"context"
	"database/sql"
	"strings"
)

// Engine is a kind of database.
type Engine string

// The engines.
const (
	SQLite  Engine = "sqlite"
	MariaDB Engine = "mariadb"
	MySQL   Engine = "mysql"
)

// EngineInfo says what answers at the other end.
type EngineInfo struct {
	Kind    string // sqlite, mariadb or mysql; redis, valkey or miniredis
	Version string // as the server says, without its build suffix; empty where it does not say
}

// Engine returns the database's kind and version.
func (s *Store) Engine() EngineInfo { return s.info }

func readEngineInfo(ctx context.Context, db *sql.DB, e Engine) (EngineInfo, error) {
	query := "SELECT VERSION()"
	if e == SQLite {
		query = "SELECT sqlite_version()"
	}
	var v string
	if err := db.QueryRowContext(ctx, query).Scan(&v); err != nil {
		return EngineInfo{}, mapErr(ctx, err)
	}
	if strings.Contains(v, "MariaDB") {
		e = MariaDB
	}
	v, _, _ = strings.Cut(v, "-") // 10.11.6-MariaDB-0+deb12u1, 8.4.0-commercial
	return EngineInfo{Kind: string(e), Version: v}, nil
}
