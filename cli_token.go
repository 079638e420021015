package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seckill/router"
)

func tokenCommand(std stdio) *cobra.Command {
	var user int64
	var scopes, secret string
	var lasts time.Duration
	cmd := command("token", "Issue a bearer token", cobra.NoArgs, func(*cobra.Command, []string) error {
		signer, err := router.NewSigner(secret)
		if err != nil {
			return usage("--token-secret: %w", err)
		}
		if lasts <= 0 {
			return usage("--for must be positive")
		}
		text, err := signer.Sign(router.Token{User: user, Scopes: list(scopes), ExpiresAt: time.Now().Add(lasts)})
		if err != nil {
			return usage("%w", err)
		}
		_, err = fmt.Fprintln(std.out, text)
		return err
	})
	f := cmd.Flags()
	f.Int64Var(&user, "user", 0, "user id")
	f.StringVar(&scopes, "scope", router.ScopeBuy, "scopes, separated by commas: "+router.ScopeBuy+", "+router.ScopeAdmin)
	f.StringVar(&secret, "token-secret", "", "the servers' secret, at least 32 bytes")
	f.DurationVar(&lasts, "for", 24*time.Hour, "how long it is valid")
	return cmd
}
