package repository

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"seckill/service"
)

// ErrNoWorker: all worker numbers are leased; one comes free when its lease ends.
var ErrNoWorker = errors.New("all worker numbers are in use")

// workerLease is the right to mint ids with this worker number and the milliseconds in (after, until].
type workerLease struct {
	held         bool
	worker       int
	owner        string
	after, until int64
}

type workerRow struct {
	Worker  int `gorm:"primaryKey;autoIncrement:false"`
	Owner   string
	UntilMs int64
}

func (workerRow) TableName() string { return "workers" }

// leaseWorker extends the lease so that it covers ms and leaseMillis more, or, when there is none or another
// process has taken the number since, leases another number.
func (s *Store) leaseWorker(ctx context.Context, have workerLease, ms int64) (workerLease, error) {
	if have.held {
		if ok, err := s.extendWorker(ctx, &have, ms+leaseMillis); ok || err != nil {
			return have, err
		}
	}
	var got workerLease
	// The pauses and the bound of retryBusy serve here as well: a lost race for a number is a busy answer.
	err := retryBusy(ctx, 20, func() (err error) {
		got, err = s.takeWorker(ctx, ms)
		return err
	})
	return got, err
}

// extendWorker:
//
//	UPDATE workers SET until_ms = ? WHERE worker = ? AND owner = ? AND until_ms = ?
//
// No row: the lease had run out and somebody else has the number.
func (s *Store) extendWorker(ctx context.Context, l *workerLease, until int64) (bool, error) {
	n, err := s.updateWorker(ctx, workerRow{l.worker, l.owner, l.until}, workerRow{l.worker, l.owner, until})
	if n > 0 {
		l.until = until
	}
	return n > 0, err
}

// releaseWorker ends the lease after the last millisecond that was used; the same UPDATE.
func (s *Store) releaseWorker(ctx context.Context, l workerLease, lastMS int64) error {
	_, err := s.updateWorker(ctx, workerRow{l.worker, l.owner, l.until}, workerRow{l.worker, "", lastMS})
	return err
}

// takeWorker takes the lowest number whose lease ended before ms, else a number that was never used:
//
//	SELECT * FROM workers WHERE until_ms < ? ORDER BY worker LIMIT 1
//	UPDATE workers SET owner = ?, until_ms = ? WHERE worker = ? AND owner = ? AND until_ms = ?
//
// A race that is lost to another process is ErrStoreBusy.
func (s *Store) takeWorker(ctx context.Context, ms int64) (workerLease, error) {
	l := workerLease{held: true, owner: rand.Text(), until: ms + leaseMillis}
	var free []workerRow
	err := s.db.WithContext(ctx).Where("until_ms < ?", ms).Order("worker").Limit(1).Find(&free).Error
	if err := mapErr(ctx, err); err != nil {
		return workerLease{}, err
	}
	if len(free) == 0 {
		return s.addWorker(ctx, l)
	}
	l.worker, l.after = free[0].Worker, free[0].UntilMs
	n, err := s.updateWorker(ctx, free[0], workerRow{l.worker, l.owner, l.until})
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: worker number %d was taken", service.ErrStoreBusy, l.worker)
	}
	return l, err
}

// addWorker:
//
//	SELECT COUNT(*) FROM workers; INSERT INTO workers …
//
// Rows are never removed, so their count is the next number.
func (s *Store) addWorker(ctx context.Context, l workerLease) (workerLease, error) {
	var n int64
	if err := mapErr(ctx, s.db.WithContext(ctx).Model(&workerRow{}).Count(&n).Error); err != nil {
		return workerLease{}, err
	}
	if n >= maxWorkers {
		return workerLease{}, ErrNoWorker
	}
	l.worker = int(n)
	row := workerRow{l.worker, l.owner, l.until}
	err := mapErr(ctx, s.writer.WithContext(ctx).Create(&row).Error)
	if errors.Is(err, errDuplicate) {
		err = fmt.Errorf("%w: worker number %d was taken", service.ErrStoreBusy, l.worker)
	}
	return l, err
}

// updateWorker changes the row if it still is what it was.
func (s *Store) updateWorker(ctx context.Context, from, to workerRow) (int64, error) {
	return changed(ctx, s.writer.WithContext(ctx).Model(&workerRow{}).
		Where("worker = ? AND owner = ? AND until_ms = ?", from.Worker, from.Owner, from.UntilMs).
		Updates(map[string]any{"owner": to.Owner, "until_ms": to.UntilMs}))
}
