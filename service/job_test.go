package service_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

func TestJob_SlotsAndKeys(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 3, 5, time.FixedZone("CST", 8*3600))
	slot := service.Slot(at, 2*time.Second)
	require.Equal(t, "2026-01-01T04:00:02Z", slot.Format(time.RFC3339Nano))
	require.Equal(t, slot, service.Slot(at.UTC(), 2*time.Second), "every process names the slot alike")
	require.Equal(t, "job:report:2026-01-01T04:00:02Z", service.JobKey("report", slot))
	require.NotEqual(t, service.JobKey("report", slot), service.JobKey("report", slot.Add(time.Millisecond)))
}

// One copy runs in each slot, and the copy whose timer fires later in the same slot finds the lock still taken.
func TestJob_OneRunsInEachSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
		require.NoError(t, err)
		job := service.Job{Name: "report", Every: 2 * time.Second, Locker: opened}
		slot := service.Slot(time.Now(), job.Every)
		var runs, winners atomic.Int64
		var all sync.WaitGroup
		for late := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(late) * 500 * time.Millisecond)
				ran, err := job.Tick(context.Background(), slot, func(context.Context) error { runs.Add(1); return nil })
				require.NoError(t, err)
				if ran {
					winners.Add(1)
					require.Equal(t, slot.Add(job.Every), time.Now().UTC(), "not before the slot has ended")
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, runs.Load())
		require.EqualValues(t, 1, winners.Load())
		ran, err := job.Tick(context.Background(), slot.Add(job.Every), func(context.Context) error { return errors.New("failed") })
		require.True(t, ran, "the next slot is a new key")
		require.EqualError(t, err, "failed")
		require.NoError(t, opened.Close(context.Background()))
	})
}

func TestJob_StopsWithItsContext(t *testing.T) {
	opened, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
	require.NoError(t, err)
	job := service.Job{Name: "report", Every: time.Hour, Locker: opened}
	ctx, cancel := context.WithCancel(context.Background())
	ran, err := job.Tick(ctx, service.Slot(time.Now(), job.Every), func(context.Context) error { cancel(); return nil })
	require.True(t, ran)
	require.NoError(t, err)
	require.NoError(t, opened.Close(context.Background()))
}
