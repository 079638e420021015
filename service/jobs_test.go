package service_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

// watchdogFor opens the janitor's lock on a client of its own, as another process would.
func watchdogFor(t *testing.T, url string, ttl time.Duration) (lock.Locker, *redis.Client) {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	rdb := redis.NewClient(o)
	opened, err := lock.Open("watchdog", lock.Resources{Redis: rdb}, lock.Options{TTL: ttl})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, opened.Close(context.Background()))
		require.NoError(t, rdb.Close())
	})
	return opened, rdb
}

// A run ends with its lock: who lost it is told, because from then on another process may run the job.
func TestJanitor_ARunEndsWithItsLock(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		locker, rdb := watchdogFor(t, url, service.JobLockTTL)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		j := service.Janitor{Locker: locker, Log: slog.New(slog.DiscardHandler), Duties: []service.Duty{{Name: "test", Every: time.Hour, Run: func(run context.Context) error {
			if err := rdb.FlushAll(ctx).Err(); err != nil {
				return err
			}
			<-run.Done()
			ended <- context.Cause(run)
			return nil
		}}}}
		var all sync.WaitGroup
		all.Go(func() { j.Run(ctx) })
		select {
		case cause := <-ended:
			require.ErrorIs(t, cause, lock.ErrLost)
		case <-time.After(time.Minute):
			t.Fatal("the run was never told")
		}
		stop()
		all.Wait()
	})
}

// Run returns when the job in hand has ended, and the lock is free for another process at once.
func TestJanitor_StopsWithItsJobAndFreesTheLock(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		locker, _ := watchdogFor(t, url, time.Minute)
		other, _ := watchdogFor(t, url, time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		begun := make(chan struct{})
		var meanwhile error // what another process is told while the job ends
		j := service.Janitor{Locker: locker, Duties: []service.Duty{{Name: "test", Every: time.Hour, Run: func(run context.Context) error {
			close(begun)
			<-run.Done()
			_, meanwhile = other.Acquire(context.Background(), "job:test")
			return run.Err()
		}}}}
		returned := make(chan struct{})
		go func() { defer close(returned); j.Run(ctx) }()
		<-begun
		stop()
		<-returned
		require.ErrorIs(t, meanwhile, lock.ErrBusy)
		lease, err := other.Acquire(context.Background(), "job:test")
		require.NoError(t, err)
		require.NoError(t, lease.Release(context.Background()))
	})
}

// However many processes there are, runs begin at least half of Every apart, and each 1.5 times Every brings one.
func TestJanitor_ProcessesShareTheRuns(t *testing.T) {
	for _, processes := range []int{1, 5} {
		synctest.Test(t, func(t *testing.T) {
			opened, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			var begun []time.Time // guarded by the lock under test: with -race, a second holder is a finding
			var all sync.WaitGroup
			for i := range processes {
				j := service.Janitor{Locker: opened, Duties: []service.Duty{{Name: "test", Every: time.Second, Run: func(context.Context) error {
					begun = append(begun, time.Now())
					return nil
				}}}}
				all.Go(func() {
					time.Sleep(time.Duration(i) * 130 * time.Millisecond)
					j.Run(ctx)
				})
			}
			all.Wait()
			for i := range begun[1:] {
				gap := begun[i+1].Sub(begun[i])
				require.GreaterOrEqual(t, gap, 500*time.Millisecond)
				require.LessOrEqual(t, gap, 1500*time.Millisecond)
			}
			require.Greater(t, len(begun), 35)
			require.NoError(t, opened.Close(context.Background()))
		})
	}
}

// A job that fails is logged and runs again; the others go on beside it.
func TestJanitor_GoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
		require.NoError(t, err)
		var log bytes.Buffer
		failed, worked := 0, 0
		j := service.Janitor{Locker: opened, Log: slog.New(slog.NewTextHandler(&log, nil)), Duties: []service.Duty{
			{Name: "bad", Every: time.Second, Run: func(context.Context) error { failed++; return errors.New("disk on fire") }},
			{Name: "good", Every: time.Second, Run: func(context.Context) error { worked++; return nil }},
		}}
		ctx, stop := context.WithTimeout(context.Background(), 20500*time.Millisecond) // between two runs
		defer stop()
		j.Run(ctx)
		require.Greater(t, failed, 5)
		require.Greater(t, worked, 5)
		require.Equal(t, failed, bytes.Count(log.Bytes(), []byte("job=bad error=\"disk on fire\"")))
		require.NotContains(t, log.String(), "job=good")
		require.NoError(t, opened.Close(context.Background()))
	})
}
