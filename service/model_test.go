package service

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// S-66
func TestParseID(t *testing.T) {
	for _, bad := range []string{"", "0", "-1", "+1", "1.0", "1e3", "0x10", " 1", "1 ", "abc", "9223372036854775808", "99999999999999999999999", "１"} {
		_, err := ParseID(bad)
		require.ErrorIs(t, err, ErrInvalid, bad)
	}
	for _, good := range []ID{1, 42, 1<<53 + 1, math.MaxInt64} {
		got, err := ParseID(good.String())
		require.NoError(t, err)
		require.Equal(t, good, got)
	}
}

// S-64: a number above 2^53 loses digits in a browser, a string does not.
func TestID_IsAStringInJSON(t *testing.T) {
	text, err := json.Marshal(map[string]ID{"id": math.MaxInt64})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"9223372036854775807"}`, string(text))
	var back map[string]ID
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, ID(math.MaxInt64), back["id"])
	require.Error(t, json.Unmarshal([]byte(`{"id":"-5"}`), &back))
	require.Error(t, json.Unmarshal([]byte(`{"id":5}`), &back))
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "007", "9223372036854775807", "9223372036854775808", "1_000", "١"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Zero(t, id)
			return
		}
		require.Positive(t, id)
		again, err := ParseID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
}

func FuzzParseClaim(f *testing.F) {
	for _, s := range []string{"ok", "O", "OF(DR)", "(U)", "(", ")", "((", "O(D)R"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseClaim(s)
		if err == nil && s != "ok" {
			require.Len(t, s, len(c.Must)+len(c.May)+len("()")*min(1, len(s)-len(c.Must)-len(c.May)))
		}
	})
}
