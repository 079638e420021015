package migrations_test

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/migrations"
)

// schema is what both dialects must agree on: per table its columns ("name", or "name?" when it may be NULL) in
// order, and its indexes ("unique(a,b)", "index(a,b)", by name; the primary key is named PRIMARY).
type schema map[string]table

type table struct {
	Columns []string
	Indexes map[string]string
}

func (s schema) names() []string { return slices.Sorted(maps.Keys(s)) }

func readSchema(t *testing.T, db *sql.DB, d migrations.Dialect) schema {
	t.Helper()
	names := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'"
	read := readSQLiteTable
	if d == migrations.MySQL {
		names = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%'"
		read = readMySQLTable
	}
	s := schema{}
	for _, row := range query(t, db, names) {
		s[row[0]] = read(t, db, row[0])
	}
	return s
}

func readSQLiteTable(t *testing.T, db *sql.DB, name string) table {
	t.Helper()
	tab := table{Indexes: map[string]string{}}
	for _, c := range query(t, db, "SELECT name, \"notnull\" FROM pragma_table_info(?) ORDER BY cid", name) {
		tab.Columns = append(tab.Columns, column(c[0], c[1] == "0"))
	}
	var pk []string
	for _, c := range query(t, db, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name) {
		pk = append(pk, c[0])
	}
	tab.Indexes["PRIMARY"] = index(true, pk)
	for _, i := range query(t, db, "SELECT name, \"unique\" FROM pragma_index_list(?) WHERE origin = 'c'", name) {
		var columns []string
		for _, c := range query(t, db, "SELECT name FROM pragma_index_info(?) ORDER BY seqno", i[0]) {
			columns = append(columns, c[0])
		}
		tab.Indexes[i[0]] = index(i[1] == "1", columns)
	}
	return tab
}

func readMySQLTable(t *testing.T, db *sql.DB, name string) table {
	t.Helper()
	tab := table{Indexes: map[string]string{}}
	for _, c := range query(t, db, `SELECT column_name, is_nullable FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position`, name) {
		tab.Columns = append(tab.Columns, column(c[0], c[1] == "YES"))
	}
	for _, i := range query(t, db, `SELECT index_name, non_unique, GROUP_CONCAT(column_name ORDER BY seq_in_index)
		FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ?
		GROUP BY index_name, non_unique`, name) {
		tab.Indexes[i[0]] = index(i[1] == "0", strings.Split(i[2], ","))
	}
	return tab
}

func column(name string, nullable bool) string {
	if nullable {
		return name + "?"
	}
	return name
}

func index(unique bool, columns []string) string {
	kind := "index"
	if unique {
		kind = "unique"
	}
	return kind + "(" + strings.Join(columns, ",") + ")"
}

// query returns all rows as strings.
func query(t *testing.T, db *sql.DB, q string, args ...any) [][]string {
	t.Helper()
	rows, err := db.Query(q, args...)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	var all [][]string
	for rows.Next() {
		row := make([]string, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		require.NoError(t, rows.Scan(into...))
		all = append(all, row)
	}
	require.NoError(t, rows.Err())
	return all
}
