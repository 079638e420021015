package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"seckill/service"
)

// replayFlags are the settings of a replay.
type replayFlags struct {
	reconcileFlags
	list    bool
	discard bool
}

// replayed is what became of one dead letter.
type replayed struct {
	Letter  string     `json:"letter"`
	Order   service.ID `json:"order,omitempty"`
	Voucher service.ID `json:"voucher,omitempty"`
	User    int64      `json:"user,omitempty,string"`
	Reason  string     `json:"reason"` // why it became a dead letter
	Result  string     `json:"result"` // listed, replayed, refused, discarded
	As      service.ID `json:"as,omitempty"`
	Refusal string     `json:"refusal,omitempty"`
}

func replayCommand(std stdio) *cobra.Command {
	r := &replayFlags{}
	cmd := command("replay", "Give orders that became dead letters another try, each as a new order that is admitted anew", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			if err := r.validate("replay"); err != nil {
				return err
			}
			return r.run(cmd.Context(), std)
		})
	cmd.Long = "A dead letter's order has ended as failed and its unit went back, so a replay asks the gate again: when nothing is\n" +
		"left, or the user has another order by now, it is refused, and the letter stays (--discard removes it).\n" +
		"Exit code 1: a letter was refused and stays."
	r.bind(cmd)
	cmd.Flags().BoolVar(&r.list, "list", false, "only list the letters")
	cmd.Flags().BoolVar(&r.discard, "discard", false, "remove letters that are refused")
	return cmd
}

func (r *replayFlags) run(ctx context.Context, std stdio) (err error) {
	a := &app{}
	defer func() { err = errors.Join(err, a.Close()) }()
	l, _, err := a.connectLife(ctx, addresses{redis: r.redis, db: r.db}, &r.life, nil, slog.New(slog.NewTextHandler(std.err, nil)))
	if err != nil {
		return interrupted(ctx, err)
	}
	replayer := &service.Replayer{Letters: l.gate, Intake: l.intake, IDs: l.keys.IDs}
	refused := 0
	err = replayer.Each(ctx, r.life.partitions, func(d service.DeadLetter) error {
		done, err := r.one(ctx, replayer, d)
		if err != nil {
			return err
		}
		if done.Result == "refused" {
			refused++
		}
		return r.show(std.out, done)
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	if refused > 0 {
		return failed(fmt.Errorf("%d dead letters were refused and stay", refused))
	}
	return nil
}

// refusals are answers to a replay that another try would not change by itself.
var refusals = []error{service.ErrSoldOut, service.ErrAlreadyOrdered, service.ErrNotStarted, service.ErrEnded, service.ErrNotFound, service.ErrInvalid}

func (r *replayFlags) one(ctx context.Context, replayer *service.Replayer, d service.DeadLetter) (replayed, error) {
	out := replayed{Letter: d.ID, Order: d.Order, Voucher: d.Voucher, User: d.User, Reason: d.Reason, Result: "listed"}
	if r.list {
		return out, nil
	}
	id, err := replayer.Replay(ctx, d)
	if err == nil {
		out.Result, out.As = "replayed", id
		return out, nil
	}
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			out.Result, out.Refusal = "refused", err.Error()
			if r.discard {
				out.Result = "discarded"
				return out, replayer.Discard(ctx, d)
			}
			return out, nil
		}
	}
	return out, fmt.Errorf("dead letter %s: %w", d.ID, err)
}

func (r *replayFlags) show(w io.Writer, d replayed) error {
	if r.json {
		return json.NewEncoder(w).Encode(d)
	}
	line := fmt.Sprintf("%s  order %s, voucher %s, user %d (%s): %s", d.Letter, d.Order, d.Voucher, d.User, d.Reason, d.Result)
	if d.As != 0 {
		line += " as " + d.As.String()
	}
	if d.Refusal != "" {
		line += ": " + d.Refusal
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
