package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/router"
	"seckill/service"
)

const longSecret = "0123456789abcdef0123456789abcdef"

func TestBadUsage(t *testing.T) {
	for line, words := range map[string]string{
		"nonsense":               `unknown command "nonsense"`,
		"serve --nonsense":       "unknown flag: --nonsense",
		"serve extra":            `unknown command "extra"`,
		"serve --stage nonsense": `stage "nonsense" is none of none, mutex`,
		"serve --lock nonsense":  "--lock",
		"serve --ttl 1ms":        "--ttl 1ms is below",
		"serve --ttl soon":       "want auto or a duration",
		"serve --stage reentrant-simple --ttl 1500ms": "whole seconds",
		"serve --work=-1s":                            "--work",
		"serve --addr nonsense":                       "not host:port",
		"serve --lab --redis ftp://x":                 "the Redis address is none of",
		"serve --redlock-nodes x":                     "the Redis address is none of",
		"serve --hold nonsense":                       "want POINT=ACTION",
		"serve --lab=off":                             "--token-secret is required",
		"serve --lab=maybe":                           "want on or off",
		"serve --lab=off --token-secret short":        "needs at least 32",
		"serve --lab=off --hold critical=kill --token-secret " + longSecret: "for lab mode only",
		"compare --stages nonsense":                                         `no stage or track "nonsense"`,
		"compare --stages ,":                                                "no stage in",
		"compare --scenarios nonsense":                                      `no scenario "nonsense"; there are single`,
		"compare --processes 0":                                             "must be at least 1",
		"compare --processes 1":                                             "needs at least 2 processes",
		"compare --users -5":                                                "users is -5",
		"compare --format xml":                                              "want one of table, json, markdown",
		"compare --redis redis://127.0.0.1:1 --stages redlock":              "--redlock-nodes",
		"compare --rate -5":                                                 "rate is -5",
		"compare --rate fast":                                               "invalid argument",
		"compare --warmup -1s":                                              "warmup is -1s",
		"compare --warmup 1":                                                "invalid argument",
		"compare --repeat 0":                                                "must be at least 1",
		"compare --targets nonsense":                                        "is not the base URL of a server",
		"compare --targets http://a,http://a":                               "named twice",
		"compare --targets http://u:p@a":                                    "must not carry a password",
		"compare --targets http://a,http://b --scenarios crash":             "scenario crash needs servers that compare starts itself",
		"compare --targets http://a,http://b --scenarios all":               "scenario slow needs servers that compare starts itself",
		"compare --targets http://a --scenarios multi":                      "needs at least 2 processes",
		"compare --targets http://a --work 5ms":                             "--work is for servers that compare starts",
		"compare --targets http://a --db spawn":                             "--db is for servers that compare starts",
		"report":                                                            "accepts between 1 and 2 arg",
		"report a b c":                                                      "accepts between 1 and 2 arg",
		"report go.mod":                                                     "not a report of compare",
		"report nonsense.json":                                              "no such file",
		"report --format pdf go.mod":                                        "want one of table, json, markdown, matrix, html",
		"job --lock mutex":                                                  "want one of hash, incr, lua",
		"job --processes 0":                                                 "--processes must be 1 to 32",
		"show":                                                              "accepts 1 arg",
		"show nonsense":                                                     `stage "nonsense" is none of`,
		"show lua --lang fr":                                                "neither en nor zh",
		"token --token-secret short":                                        "needs at least 32",
		"token --user 1 --scope cook --token-secret " + longSecret:          `scope "cook" is none of`,
		"token --token-secret " + longSecret:                                "needs a positive user id",
		"migrate":                                                           "--db mysql://",
		"migrate --db nonsense":                                             "not a database address",
		"serve --lab --db nonsense":                                         "not a database address",
		"compare --db nonsense":                                             "not a database address",
		"users --count 9 --stock 5 --target nonsense":                       "is not the base URL of a server",
		"users --count 9 --stock 5 --target http://a,http://a":              "named twice",
		"stages --track nonsense":                                           `track "nonsense" is none of`,
		"health --addr nonsense":                                            "not host:port",
	} {
		t.Run(line, func(t *testing.T) { refused(t, seckill(t, strings.Fields(line)...), exitUsage, words) })
	}
}

func TestCouldNotRun(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = busy.Close() }()
	refused(t, seckill(t, "serve", "--addr", busy.Addr().String()), exitCannot, "can't listen on "+busy.Addr().String())
	refused(t, seckill(t, "migrate", "--db", "mysql://nobody@127.0.0.1:1/nothing"), exitCannot, "127.0.0.1:1")
	db := "sqlite://" + filepath.Join(t.TempDir(), "sale.db")
	require.Zero(t, seckill(t, "migrate", "--db", db).code)
	refused(t, seckill(t, "serve", "--addr=127.0.0.1:0", "--lab", "--redis=redis://127.0.0.1:1", "--db", db), exitCannot,
		"redis does not answer")
	refused(t, seckill(t, "health", "--addr=127.0.0.1:1"), exitFailed, "not ready")
}

// Errors that were joined stay apart in the one line.
func TestJoinedErrorsAreOneLine(t *testing.T) {
	err := errors.Join(errors.New("one is  0.3\n\tor so"), errors.New("two is 0.4"))
	require.Equal(t, "one is 0.3; or so; two is 0.4", oneLine(err))
	require.Equal(t, "alone", oneLine(errors.New("alone\n")))
}

func TestMissingProgramIsOneLine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	refused(t, seckill(t, "compare", "--redis", "spawn", "--out", ""), exitCannot, "redis-server")
	refused(t, seckill(t, "compare", "--db", "spawn", "--out", ""), exitCannot, "mariadb")
	refused(t, seckill(t, "serve", "--addr=127.0.0.1:0", "--redis", "spawn"), exitCannot, "redis-server")
	refused(t, seckill(t, "job", "--redis", "spawn"), exitCannot, "redis-server")
}

func TestOldSchemaIsRefusedWithTheCommandToRun(t *testing.T) {
	db := "sqlite://" + filepath.Join(t.TempDir(), "sale.db")
	refused(t, seckill(t, "serve", "--addr=127.0.0.1:0", "--lab", "--db", db), exitCannot, "seckill migrate")
	r := seckill(t, "migrate", "--db", db)
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `^[1-9]\d* migrations applied`, r.out)
	require.Regexp(t, `^0 migrations applied`, seckill(t, "migrate", "--db", db).out)
}

func TestHelpAndVersion(t *testing.T) {
	for _, line := range []string{"", "--help", "serve --help", "version", "stages"} {
		r := seckill(t, strings.Fields(line)...)
		require.Zero(t, r.code, line)
		require.NotEmpty(t, r.out, line)
		require.Empty(t, r.err, line)
	}
}

func TestShowHasTextAndSourceOfEveryStage(t *testing.T) {
	for _, s := range service.Ladder() {
		en, zh := seckill(t, "show", s.Name, "--lang=en"), seckill(t, "show", s.Name, "--lang=zh")
		require.Zero(t, en.code, en.err)
		require.Contains(t, en.out, s.Text.EN.Fixes)
		require.Contains(t, zh.out, s.Text.ZH.Fixes)
		require.Regexp(t, `(?m)^## Source: lock/\w+\.go`, en.out)
		flow := "service/flow.go"
		if s.Path != service.PathSync {
			flow = "service/admission_path.go"
		}
		require.Contains(t, en.out, "## Source: "+flow)
		require.Contains(t, en.out, "## Source: service/stock.go")
		require.Contains(t, en.out, "--lock "+s.Lock+" ")
	}
	lua := seckill(t, "show", "lua", "--lang=en").out
	require.Contains(t, lua, "## Source: lock/unlock.lua")
	require.Contains(t, lua, "func (b *buy) around(")
	require.Equal(t, "zh", languageOf("zh_CN.UTF-8"))
	require.Equal(t, "en", languageOf("C"))
}

func TestTokenIsAccepted(t *testing.T) {
	r := seckill(t, "token", "--user=7", "--scope=buy,admin", "--token-secret="+longSecret, "--for=1h")
	require.Zero(t, r.code, r.err)
	signer, err := router.NewSigner(longSecret)
	require.NoError(t, err)
	token, err := signer.Verify(strings.TrimSpace(r.out))
	require.NoError(t, err)
	require.EqualValues(t, 7, token.User)
	require.True(t, token.Has(router.ScopeAdmin))
}

func TestChildrenGetNoSettingsFromTheEnvironment(t *testing.T) {
	t.Setenv("SECKILL_STAGE", "none")
	require.NotContains(t, strings.Join(withoutSettings(os.Environ()), "\n"), "SECKILL_")
}
