package service

import (
	"context"
	"errors"
	"time"

	"seckill/lock"
)

// Slot is the beginning of the time slot that now lies in; slots are every long and the same on every process.
func Slot(now time.Time, every time.Duration) time.Time { return now.UTC().Truncate(every) }

// JobKey is the lock key of one run of a scheduled job. It carries the slot: a process that comes late to this slot
// asks for this slot's lock and not for the next one's.
func JobKey(name string, slot time.Time) string {
	return "job:" + name + ":" + slot.UTC().Format(time.RFC3339Nano)
}

// Job is a scheduled job of which every process has a copy and of which one copy should run in each slot.
type Job struct {
	Name   string
	Every  time.Duration // at least a second or so: clocks of several machines agree no better
	Locker lock.Locker   // with Wait 0
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Tick tries to run the job for the slot and tells whether this process did. It keeps the lock until the slot ends,
// also when run is quick: released earlier, a process whose timer fires a little later would run the job again.
func (j Job) Tick(ctx context.Context, slot time.Time, run func(context.Context) error) (ran bool, err error) {
	lease, err := j.Locker.Acquire(ctx, JobKey(j.Name, slot))
	if errors.Is(err, lock.ErrBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = run(lease.Context())
	now := time.Now
	if j.Now != nil {
		now = j.Now
	}
	if rest := slot.Add(j.Every).Sub(now()); rest > 0 {
		sleep(ctx, rest)
	}
	return true, errors.Join(err, lease.Release(ctx))
}
