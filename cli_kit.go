package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/loadtest"
	"seckill/router"
	"seckill/service"
)

// usersFlags say what kit is written.
type usersFlags struct {
	kit     loadtest.Kit
	targets string
	out     string
	stock   int
	first   int64
	secret  string
	lasts   time.Duration
}

func usersCommand(std stdio) *cobra.Command {
	var u usersFlags
	cmd := command("users", "Write users with their requests for vegeta, k6 or another load generator", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return u.write(cmd, std) })
	cmd.Long = "Writes a kit: users.json (each user's headers), targets.json (the requests in vegeta's JSON form) and kit.json.\n" +
		"It refuses what would prove nothing, such as fewer users than units. Servers in lab mode believe the header\n" +
		"X-User-ID; for others --token-secret signs a token for each user."
	u.bind(cmd.Flags())
	return cmd
}

func (u *usersFlags) bind(f *pflag.FlagSet) {
	f.IntVar(&u.kit.Users, "count", 0, "how many users; there must be more than units")
	f.StringVar(&u.kit.Voucher, "voucher", "", "id of the voucher they want; without it --stock makes one")
	f.IntVar(&u.stock, "stock", 0, "make a fresh voucher with that many units")
	f.IntVar(&u.kit.Clicks, "clicks", 1, "requests of each user, at different targets")
	f.StringVar(&u.kit.Stage, "stage", "", "lab: ask for this stage with every request")
	f.StringVar(&u.targets, "target", "http://127.0.0.1:8080", "base URLs of the servers, separated by commas")
	f.StringVar(&u.out, "out", "kit", "folder to write to")
	f.Int64Var(&u.first, "first-user", 1, "id of the first user; the others follow")
	f.StringVar(&u.secret, "token-secret", "", "sign tokens with the servers' secret; empty: the servers are in lab mode")
	f.DurationVar(&u.lasts, "for", 24*time.Hour, "how long the tokens are valid")
}

func (u *usersFlags) write(cmd *cobra.Command, std stdio) error {
	var err error
	if u.kit.Targets, err = loadtest.ParseTargets(u.targets); err != nil {
		return usage("--target: %w", err)
	}
	if (u.kit.Voucher == "") == (u.stock == 0) {
		return usage("either --voucher ID or --stock N is needed")
	}
	if u.first < 1 {
		return usage("--first-user must be positive")
	}
	if u.kit.Stage != "" {
		if _, err := service.StageByName(u.kit.Stage); err != nil {
			return usage("%w", err)
		}
	}
	identify, err := u.identities()
	if err != nil {
		return err
	}
	if u.kit.Voucher == "" {
		if u.kit.Users <= u.stock {
			return usage("%d users for %d units: %w", u.kit.Users, u.stock, loadtest.ErrKit)
		}
		err = u.kit.CreateVoucher(cmd.Context(), u.stock)
	} else if _, bad := service.ParseID(u.kit.Voucher); bad != nil {
		return usage("--voucher: %w", bad)
	}
	if err == nil {
		err = u.kit.Look(cmd.Context())
	}
	if err == nil {
		err = loadtest.WriteKit(u.out, u.kit, u.first, identify)
	}
	if err != nil {
		return kitError(err)
	}
	_, err = fmt.Fprintf(std.out, "%s: %d users, %d requests for voucher %s with %d units\n", u.out, u.kit.Users,
		u.kit.Users*u.kit.Clicks, u.kit.Voucher, u.kit.InitialStock)
	return err
}

// identities fills the administrator's headers in and tells how users are known.
func (u *usersFlags) identities() (loadtest.Identify, error) {
	if u.secret == "" {
		return func(user int64) (map[string]string, error) {
			return map[string]string{"X-User-ID": fmt.Sprint(user)}, nil
		}, nil
	}
	signer, err := router.NewSigner(u.secret)
	if err != nil {
		return nil, usage("--token-secret: %w", err)
	}
	if u.lasts <= 0 {
		return nil, usage("--for must be positive")
	}
	bearer := func(user int64, scope string) (map[string]string, error) {
		text, err := signer.Sign(router.Token{User: user, Scopes: []string{scope}, ExpiresAt: time.Now().Add(u.lasts)})
		return map[string]string{"Authorization": "Bearer " + text}, err
	}
	u.kit.Admin, err = bearer(0, router.ScopeAdmin)
	return func(user int64) (map[string]string, error) { return bearer(user, router.ScopeBuy) }, err
}

// kitError: a load test that would prove nothing is asked for in the wrong way.
func kitError(err error) error {
	if errors.Is(err, loadtest.ErrKit) {
		return usage("%w", err)
	}
	return err
}

// folderError: a folder that is no kit is a wrong argument, too.
func folderError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("%w", err)
	}
	return kitError(err)
}

// kitCommand holds what the scripts of the load kits need.
func kitCommand(std stdio) *cobra.Command {
	kit := &cobra.Command{Use: "kit", Short: "Check a kit before a load test and judge it afterwards", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage("kit check or kit report?") }}
	var requests int
	check := command("check KIT", "Refuse the usual mistakes, and print how many requests there are to send", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			k, n, err := loadtest.CheckKit(args[0], requests)
			if err == nil {
				err = k.Look(cmd.Context())
			}
			if err != nil {
				return folderError(err)
			}
			_, err = fmt.Fprintln(std.out, n)
			return err
		})
	check.Flags().IntVar(&requests, "requests", 0, "how many of the kit's requests will be sent; 0: all")
	var results string
	report := command("report KIT", "Count what vegeta was told, ask for the audit, and judge", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return kitReport(cmd, std, args[0], results) })
	report.Flags().StringVar(&results, "results", "", "what vegeta attack wrote; default KIT/vegeta.bin")
	kit.AddCommand(check, report)
	return kit
}

// kitReport prints the row for a person and writes KIT/vegeta.json, a report like compare's.
func kitReport(cmd *cobra.Command, std stdio, dir, results string) (err error) {
	k, err := loadtest.ReadKit(dir)
	if err != nil {
		return folderError(err)
	}
	if results == "" {
		results = filepath.Join(dir, "vegeta.bin")
	}
	f, err := os.Open(results)
	if err != nil {
		return folderError(err)
	}
	defer func() { _ = f.Close() }()
	report, err := loadtest.KitReport(cmd.Context(), machine(cmd.Context()), k, f)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(std.out, report.Rows[0].Summary()); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, "vegeta.json"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := report.WriteJSON(out); err != nil {
		return err
	}
	if !report.AsClaimed() {
		return failed(errors.New(report.Rows[0].Verdict))
	}
	return nil
}
