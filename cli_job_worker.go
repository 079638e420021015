package main

import (
	"context"
	"errors"
	"time"

	"seckill/lock"
	"seckill/service"
)

// work is one copy of the job: at the beginning of each slot it tries to run it, and tells its parent.
func (j *jobFlags) work(ctx context.Context, std stdio) (err error) {
	if j.parentPipe {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go endWith(std.in, cancel)
	}
	say := eventWriter(std.out)
	holds, err := armHolds(j.holds, say)
	if err != nil {
		return usage("%w", err)
	}
	rdb, err := openRedis(j.redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	// The lock outlives its slot, so that only the end of the slot frees it, or the TTL when the holder died.
	locker, err := lock.Open(j.lock.value, lock.Resources{Redis: rdb}, lock.Options{TTL: 2 * j.every, Holds: holds})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		err = errors.Join(err, locker.Close(closing))
	}()
	if err := pingRedis(ctx, rdb); err != nil {
		return err
	}
	say(event{Event: eventListening})
	job := service.Job{Name: "settlement", Every: j.every, Locker: locker}
	for slot := service.Slot(time.Now(), j.every).Add(j.every); until(ctx, slot); slot = slot.Add(j.every) {
		tick(ctx, job, slot, say)
	}
	return nil
}

// tick says at once that it runs, for Tick returns at the end of the slot only.
func tick(ctx context.Context, job service.Job, slot time.Time, say func(event)) {
	e := event{Event: eventTick, Slot: slot.Format("15:04:05.000")}
	ran, err := job.Tick(ctx, slot, func(context.Context) error {
		e.Ran = true
		say(e)
		return nil
	})
	switch {
	case ran:
		// Said. A release that found the lock gone is the lesson's own, not a failure of the job.
	case err != nil && ctx.Err() == nil:
		e.Error = err.Error()
		say(e)
	default:
		say(e)
	}
}

// until waits for the moment and tells whether it came before ctx ended.
func until(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
