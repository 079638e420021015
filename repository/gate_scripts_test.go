package repository

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A scriptCall is a call that would change something, and for each argument what it must not be.
type scriptCall struct {
	name   string
	source string
	keys   []string
	args   []string
	bad    [][]string // by position in args
}

var (
	badID     = []string{"", "0", "-1", "x", "1.5", " 1", "1 ", "1e3", "0x1", "12345678901234567890", "1\n"}
	badCount  = []string{"", "-1", "x", "1.5", "1e3", "9999999999999999"}
	badFlag   = []string{"", "2", "x", "true"}
	badNumber = []string{"", "0", "-1", "x", "9", "1.5", "99999999999999999999"}
	badText   = []string{""}
	badStream = []string{"", "x", "1", "1-", "-1", "1-x", "*", "1-1 "}
)

const (
	gateKey, usersKey  = "seckill:{gate:0}:v:1", "seckill:{gate:0}:v:1:users"
	pendingKey         = "seckill:{gate:0}:pending"
	streamKey, deadKey = "seckill:{gate:0}:stream", "seckill:{gate:0}:dead"
)

func scriptCalls(message string) []scriptCall {
	return []scriptCall{
		{"admit", admitSource, []string{gateKey, usersKey, pendingKey, streamKey},
			[]string{"1", "1", "70", "700", "71", "701"}, [][]string{badID, badFlag, badID, badID, badID, badID}},
		{"done", doneSource, []string{pendingKey, streamKey, gateKey},
			[]string{streamGroup, "1", "11", message, "1", "12", ""},
			[][]string{badText, badNumber, badID, badStream[1:], badNumber, badID, badStream[1:]}},
		{"return", returnSource, []string{pendingKey, gateKey, usersKey},
			[]string{"seckill:returns", "1", "1", "7", "11", "1", "1", "1", "8", "12", "0"},
			[][]string{badText, badNumber, badID, badID, badID, badFlag, badNumber, badID, badID, badID, badFlag}},
		{"preheat", preheatSource, []string{"seckill:{gate:0}:v:2", "seckill:{gate:0}:v:2:users", pendingKey, "seckill:{gate:0}:load"},
			[]string{"2", "9", "1000", "2000", "0", "seckill:returns"},
			[][]string{badID, badCount, append(badCount, "2000"), append(badCount, "1000"), append(badCount, "1"), badText}},
		{"adopt", adoptSource, []string{gateKey, usersKey}, []string{"70", "700"}, [][]string{badID, badID}},
		{"setstock", setStockSource, []string{gateKey, usersKey},
			[]string{"seckill:returns", "1", "50", "8", "2", "0", "2"},
			[][]string{badText, badID, badCount, badCount, badCount, badCount, badCount}},
		{"forget", forgetSource, []string{gateKey, usersKey, pendingKey, streamKey}, []string{"1"}, [][]string{badID}},
		{"bury", burySource, []string{streamKey, deadKey}, []string{streamGroup, message, "why"},
			[][]string{badText, badStream, badText}},
		{"leave", leaveSource, []string{streamKey}, []string{streamGroup, "idle"}, [][]string{badText, badText}},
	}
}

// scriptState makes the state that the calls would change; it returns the id of one unacknowledged message.
func scriptState(t *testing.T, rdb *redis.Client) string {
	g := preheated(t, rdb, 1, 10)
	s := NewStream(g)
	require.NoError(t, admit(t, g, 1, true, 11, 7).Err)
	require.NoError(t, admit(t, g, 1, true, 12, 8).Err)
	entries, err := s.Read(t.Context(), 0, 1, 0)
	require.NoError(t, err)
	require.NoError(t, rdb.XGroupCreateConsumer(t.Context(), streamKey, streamGroup, "idle").Err())
	return entries[0].ID
}

// A script's error does not undo its writes, so a malformed call must fail before the first one.
func TestScriptsRefuseMalformedCallsBeforeTheirFirstWrite(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		message := scriptState(t, rdb)
		before := dump(t, rdb)
		for _, c := range scriptCalls(message) {
			require.Len(t, c.bad, len(c.args), c.name)
			refused := func(what string, keys, args []string) {
				t.Helper()
				err := rdb.Eval(t.Context(), c.source, keys, toAny(args)...).Err()
				require.Error(t, err, "%s: %s", c.name, what)
				require.Regexp(t, regexp.MustCompile("^ERR "+c.name+": "), err.Error(), what)
				require.Equal(t, before, dump(t, rdb), "%s: %s", c.name, what)
			}
			for n := range c.args {
				if c.name == "admit" && n == 4 || c.name == "done" && n == 4 || c.name == "return" && n == 6 {
					continue // a shorter list is a valid call
				}
				refused(fmt.Sprintf("%d arguments", n), c.keys, c.args[:n])
			}
			for n := range c.keys {
				refused(fmt.Sprintf("%d keys", n), c.keys[:n], c.args)
			}
			for i, values := range c.bad {
				for _, v := range values {
					args := slices.Clone(c.args)
					args[i] = v
					refused(fmt.Sprintf("argument %d is %q", i+1, v), c.keys, args)
				}
			}
		}
	})
}

// The calls that the test above spoils are valid ones: each of them changes the state.
func TestScriptCallsChangeTheState(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		for _, c := range scriptCalls("") {
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
			message := scriptState(t, rdb)
			before := dump(t, rdb) + fmt.Sprint(consumers(t, rdb))
			c = scriptCalls(message)[slices.IndexFunc(scriptCalls(message), func(x scriptCall) bool { return x.name == c.name })]
			require.NoError(t, rdb.Eval(t.Context(), c.source, c.keys, toAny(c.args)...).Err(), c.name)
			after := dump(t, rdb)
			if c.name != "forget" {
				after += fmt.Sprint(consumers(t, rdb))
			}
			require.NotEqual(t, before, after, c.name)
		}
	})
}

func consumers(t *testing.T, rdb *redis.Client) []string {
	list, err := rdb.XInfoConsumers(t.Context(), streamKey, streamGroup).Result()
	require.NoError(t, err)
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

func toAny(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

// The header of every script says how to run it.
func TestScriptHeaders(t *testing.T) {
	for _, c := range scriptCalls("1-1") {
		require.Regexp(t, regexp.MustCompile(`(?s)^-- .*KEYS\[1\].*ARGV\[1\].*Replies.*redis-cli --eval `+c.name+`\.lua`), c.source)
	}
}
