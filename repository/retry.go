package repository

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"seckill/service"
)

// Bounds of one pause between two attempts.
const (
	retryFirst = 2 * time.Millisecond
	retryMost  = 100 * time.Millisecond
)

// retryBusy calls fn, and again up to retries times while it fails with ErrStoreBusy. The pauses double and are
// drawn at random between nothing and that, so that the parties of a deadlock don't meet again.
func retryBusy(ctx context.Context, retries int, fn func() error) error {
	pause := retryFirst
	for {
		err := fn()
		if retries == 0 || !errors.Is(err, service.ErrStoreBusy) {
			return err
		}
		retries--
		if err := sleep(ctx, rand.N(pause)); err != nil {
			return err
		}
		pause = min(2*pause, retryMost)
	}
}

// sleep waits for d, or returns ctx's error when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
