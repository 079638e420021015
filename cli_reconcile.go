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

// reconcileFlags are the settings of a look at the difference between Redis and the database.
type reconcileFlags struct {
	engineFlags
	life lifeFlags
	fix  bool
	json bool
}

func reconcileCommand(std stdio) *cobra.Command {
	r := &reconcileFlags{}
	cmd := command("reconcile [VOUCHER...]", "Explain every unit that differs between Redis and the database, and repair with --fix",
		cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			if err := r.validate("reconcile"); err != nil {
				return err
			}
			return r.run(cmd.Context(), std, ids)
		})
	cmd.Long = "Compares the admission state of vouchers in Redis (by default of the 100 newest) with the database, which is\n" +
		"right, and explains each difference. It may run during a sale. Exit code 1: something differs and was not repaired."
	r.bind(cmd)
	cmd.Flags().BoolVar(&r.fix, "fix", false, "repair what differs")
	return cmd
}

func (r *reconcileFlags) bind(cmd *cobra.Command) {
	r.engineFlags.bind(cmd.Flags())
	cmd.Flags().IntVar(&r.life.partitions, "partitions", 1, "as the servers have it")
	cmd.Flags().BoolVar(&r.json, "json", false, "print JSON, one object a line")
}

func (r *reconcileFlags) validate(name string) error {
	if started(r.redis) || started(r.db) {
		return usage("%s needs the --redis and --db addresses that the servers use", name)
	}
	return r.engineFlags.validate()
}

func parseIDs(args []string) ([]service.ID, error) {
	var ids []service.ID
	for _, a := range args {
		id, err := service.ParseID(a)
		if err != nil {
			return nil, usage("%w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (r *reconcileFlags) run(ctx context.Context, std stdio, ids []service.ID) (err error) {
	a := &app{}
	defer func() { err = errors.Join(err, a.Close()) }()
	l, _, err := a.connectLife(ctx, addresses{redis: r.redis, db: r.db}, &r.life, nil, slog.New(slog.NewTextHandler(std.err, nil)))
	if err != nil {
		return interrupted(ctx, err)
	}
	if len(ids) == 0 {
		vouchers, err := l.store.Vouchers(ctx, 100)
		if err != nil {
			return interrupted(ctx, err)
		}
		for _, v := range vouchers {
			ids = append(ids, v.ID)
		}
	}
	open := 0
	for _, id := range ids {
		found, err := l.reconciler.Voucher(ctx, id, r.fix)
		if err != nil {
			return interrupted(ctx, fmt.Errorf("voucher %s: %w", id, err))
		}
		if err := r.print(std.out, found); err != nil {
			return err
		}
		for _, f := range found.Findings {
			if !f.Fixed {
				open++
			}
		}
	}
	if open > 0 {
		return failed(fmt.Errorf("%d differences were not repaired%s", open, hintFix(r.fix)))
	}
	return nil
}

func hintFix(fixed bool) string {
	if fixed {
		return ""
	}
	return "; --fix repairs them"
}

func (r *reconcileFlags) print(w io.Writer, found service.Reconciliation) error {
	if r.json {
		return json.NewEncoder(w).Encode(found)
	}
	verdict := "no difference"
	switch {
	case !found.Preheated:
		verdict = "not preheated, nothing to compare"
	case len(found.Findings) > 0:
		verdict = fmt.Sprintf("%d differences", len(found.Findings))
	}
	if _, err := fmt.Fprintf(w, "voucher %s: %s\n", found.Voucher, verdict); err != nil {
		return err
	}
	for _, f := range found.Findings {
		state := "open"
		if f.Fixed {
			state = "repaired"
		}
		subject := "voucher"
		if f.Order != 0 {
			subject = fmt.Sprintf("order %s of user %d", f.Order, f.User)
		}
		if _, err := fmt.Fprintf(w, "  %-8s  %-12s  %s: %s\n", state, f.Kind, subject, f.Text); err != nil {
			return err
		}
	}
	return nil
}
