package repository

import (
	"context"
	"database/sql"
	"sync"

	"gorm.io/gorm"
)

// maxPrepared bounds the cache; the program has far fewer texts, but a multi-row insert has one per row count.
const maxPrepared = 64

// prepared is GORM's connection pool with prepared statements: every text is prepared once on the pool, and
// transactions use those.
//
// GORM's own PrepareStmt is not used. It prepares a text where it first meets it: inside a transaction, where
// database/sql can't keep it, so each later transaction prepares again, a round trip per statement. It lets a
// transaction that holds a connection wait for a statement that another goroutine prepares while that one waits
// for a connection, and hands one caller's cancellation to another. And it leaves a goroutine behind on Close.
type prepared struct {
	*sql.DB
	mu     sync.RWMutex // held for no call of database/sql: those wait for connections, and whoever has one may need it
	stmts  map[string]*sql.Stmt
	coming map[string]struct{} // being prepared
	missed map[string]struct{} // met first inside a transaction; prepared before the next one begins
}

var (
	_ gorm.ConnPool         = (*prepared)(nil)
	_ gorm.ConnPoolBeginner = (*prepared)(nil)
	_ gorm.GetDBConnector   = (*prepared)(nil)
)

func newPrepared(db *sql.DB) *prepared {
	return &prepared{DB: db, stmts: map[string]*sql.Stmt{}, coming: map[string]struct{}{}, missed: map[string]struct{}{}}
}

// GetDBConn is what gorm.DB.DB returns.
func (p *prepared) GetDBConn() (*sql.DB, error) { return p.DB, nil }

func (p *prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := p.stmt(ctx, query)
	if s == nil || err != nil {
		return p.DB.ExecContext(ctx, query, args...)
	}
	return s.ExecContext(ctx, args...)
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := p.stmt(ctx, query)
	if s == nil || err != nil {
		return p.DB.QueryContext(ctx, query, args...)
	}
	return s.QueryContext(ctx, args...)
}

func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := p.stmt(ctx, query)
	if s == nil || err != nil {
		return p.DB.QueryRowContext(ctx, query, args...)
	}
	return s.QueryRowContext(ctx, args...)
}

// BeginTx prepares what earlier transactions missed, while this one holds no connection yet, and begins.
func (p *prepared) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	for _, query := range p.takeMissed() {
		p.stmt(ctx, query) // on failure the transaction runs it unprepared and reports what is wrong
	}
	tx, err := p.DB.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &preparedTx{Tx: tx, pool: p}, nil
}

// stmt returns the prepared statement; nil when the cache is full or another caller is preparing it. So there is never a
// second one to close, which would wait for whatever its connection is doing.
func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.RLock()
	s := p.stmts[query]
	p.mu.RUnlock()
	if s != nil || !p.begin(query) {
		return s, nil
	}
	s, err := p.DB.PrepareContext(ctx, query)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.coming, query)
	if err != nil {
		return nil, err
	}
	p.stmts[query] = s
	return s, nil
}

// begin tells whether the caller shall prepare the text, alone.
func (p *prepared) begin(query string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, coming := p.coming[query]
	if coming || p.stmts[query] != nil || len(p.stmts)+len(p.coming) >= maxPrepared {
		return false
	}
	p.coming[query] = struct{}{}
	return true
}

func (p *prepared) takeMissed() []string {
	p.mu.RLock()
	n := len(p.missed)
	p.mu.RUnlock()
	if n == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	queries := make([]string, 0, len(p.missed))
	for q := range p.missed {
		queries = append(queries, q)
	}
	clear(p.missed)
	return queries
}

// known returns the prepared statement without preparing it, and remembers that it was missed.
func (p *prepared) known(query string) *sql.Stmt {
	p.mu.RLock()
	s, full := p.stmts[query], len(p.stmts)+len(p.missed) >= maxPrepared
	p.mu.RUnlock()
	if s == nil && !full {
		p.mu.Lock()
		p.missed[query] = struct{}{}
		p.mu.Unlock()
	}
	return s
}

// preparedTx is a transaction that uses the pool's prepared statements on its own connection.
type preparedTx struct {
	*sql.Tx
	pool *prepared
}

var _ gorm.TxCommitter = (*preparedTx)(nil)

func (t *preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := t.pool.known(query); s != nil {
		return t.Tx.StmtContext(ctx, s).ExecContext(ctx, args...)
	}
	return t.Tx.ExecContext(ctx, query, args...)
}

func (t *preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.pool.known(query); s != nil {
		return t.Tx.StmtContext(ctx, s).QueryContext(ctx, args...)
	}
	return t.Tx.QueryContext(ctx, query, args...)
}

func (t *preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.pool.known(query); s != nil {
		return t.Tx.StmtContext(ctx, s).QueryRowContext(ctx, args...)
	}
	return t.Tx.QueryRowContext(ctx, query, args...)
}
