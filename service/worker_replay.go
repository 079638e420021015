package service

import (
	"context"
	"errors"
)

// Replayer gives orders that became dead letters another try. A replay is a new order of the same user, with a new id:
// the old order has ended as failed and its unit went back, so the user has to be admitted again, and is refused as
// anybody would be when nothing is left.
type Replayer struct {
	Letters DeadLetters
	Intake  *Intake
	IDs     IDSource
}

// Replay admits and enqueues the letter's order anew and removes the letter. On a refusal (ErrSoldOut,
// ErrAlreadyOrdered, ErrEnded, …) the letter stays. Once replayed, a letter that could not be removed is refused the
// next time, because the user has an order.
func (r *Replayer) Replay(ctx context.Context, l DeadLetter) (ID, error) {
	if l.Order == 0 {
		return 0, invalid("the message can't be read as an order")
	}
	id, err := r.IDs.NextID(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.Intake.admit(ctx, true, Order{ID: id, VoucherID: l.Voucher, UserID: l.User}); err != nil {
		return 0, err
	}
	return id, r.Discard(ctx, l)
}

// Discard removes the letter.
func (r *Replayer) Discard(ctx context.Context, l DeadLetter) error {
	return r.Letters.RemoveDead(ctx, l.Partition, l.ID)
}

// replayPage is how many letters are read at a time.
const replayPage = 100

// Each calls visit for every dead letter there is at the start, in their order.
func (r *Replayer) Each(ctx context.Context, partitions int, visit func(DeadLetter) error) error {
	var errs []error
	for p := range partitions {
		for after := ""; ; {
			page, err := r.Letters.ListDead(ctx, p, replayPage, after)
			if err != nil {
				errs = append(errs, err)
				break
			}
			for _, l := range page {
				if err := visit(l); err != nil {
					return err
				}
				after = l.ID
			}
			if len(page) < replayPage {
				break
			}
		}
	}
	return errors.Join(errs...)
}
