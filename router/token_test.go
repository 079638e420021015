package router

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

const testSecret = "0123456789abcdef0123456789abcdef"

func testSigner(t *testing.T) *Signer {
	s, err := NewSigner(testSecret)
	require.NoError(t, err)
	return s
}

func sign(t *testing.T, s *Signer, user int64, scopes ...string) string {
	text, err := s.Sign(Token{User: user, Scopes: scopes, ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	return text
}

func TestSigner_RoundTrip(t *testing.T) {
	s := testSigner(t)
	got, err := s.Verify(sign(t, s, 1<<53+1, ScopeBuy, ScopeAdmin))
	require.NoError(t, err)
	require.EqualValues(t, 1<<53+1, got.User)
	require.True(t, got.Has(ScopeBuy) && got.Has(ScopeAdmin))
	require.WithinDuration(t, time.Now().Add(time.Hour), got.ExpiresAt, time.Minute)
}

func TestSigner_Refuses(t *testing.T) {
	_, err := NewSigner(testSecret[1:])
	require.ErrorContains(t, err, "31 bytes")

	s := testSigner(t)
	for name, bad := range map[string]Token{
		"unknown scope":    {User: 1, Scopes: []string{"root"}},
		"buyer without id": {Scopes: []string{ScopeBuy}},
		"negative user":    {User: -1, Scopes: []string{ScopeAdmin}},
	} {
		_, err := s.Sign(bad)
		require.Error(t, err, name)
	}
}

func TestSigner_VerifyRefuses(t *testing.T) {
	s := testSigner(t)
	other, err := NewSigner(strings.Repeat("x", MinSecret))
	require.NoError(t, err)
	expired, err := s.Sign(Token{User: 1, Scopes: []string{ScopeBuy}, ExpiresAt: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	craft := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		text, err := jwt.NewWithClaims(method, claims).SignedString(key)
		require.NoError(t, err)
		return text
	}
	in1h := time.Now().Add(time.Hour).Unix()
	for name, text := range map[string]string{
		"empty":             "",
		"no token":          "abc.def",
		"other secret":      sign(t, other, 1, ScopeBuy),
		"expired":           expired,
		"no expiry":         craft(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"sub": "1", "scope": "buy"}),
		"algorithm none":    craft(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "1", "exp": in1h}),
		"another algorithm": craft(jwt.SigningMethodHS512, []byte(testSecret), jwt.MapClaims{"sub": "1", "exp": in1h}),
		"negative subject":  craft(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"sub": "-1", "exp": in1h}),
		"subject no number": craft(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"sub": "bob", "exp": in1h}),
		"one letter off":    sign(t, s, 1, ScopeBuy) + "A",
	} {
		_, err := s.Verify(text)
		require.Error(t, err, name)
	}
}

// 401 says who are you, 403 says not you.
func TestTokenAuth(t *testing.T) {
	s := testSigner(t)
	a := tokenAuth{s}
	for name, c := range map[string]struct {
		header      string
		user, admin int // statuses; 0: accepted
	}{
		"nothing":      {"", 401, 401},
		"other scheme": {"Basic abc", 401, 401},
		"no text":      {"Bearer", 401, 401},
		"garbage":      {"Bearer abc", 401, 401},
		"buyer":        {"Bearer " + sign(t, s, 5, ScopeBuy), 0, 403},
		"lower case":   {"bearer " + sign(t, s, 5, ScopeBuy), 0, 403},
		"admin":        {"Bearer " + sign(t, s, 0, ScopeAdmin), 403, 0},
		"both":         {"Bearer " + sign(t, s, 5, ScopeBuy, ScopeAdmin), 0, 0},
		"no scope":     {"Bearer " + sign(t, s, 5), 403, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", c.header)
			r.Header.Set("X-User-ID", "99") // believed in lab mode alone
			user, err := a.user(r)
			require.Equal(t, c.user, statusOf(err))
			if err == nil {
				require.EqualValues(t, 5, user)
			}
			require.Equal(t, c.admin, statusOf(a.admin(r)))
		})
	}
}

func statusOf(err error) int {
	if err == nil {
		return 0
	}
	status, _, _ := failure(err)
	return status
}

func FuzzVerify(f *testing.F) {
	s, err := NewSigner(testSecret)
	require.NoError(f, err)
	good, err := s.Sign(Token{User: 1, Scopes: []string{ScopeBuy}, ExpiresAt: time.Now().Add(100 * time.Hour)})
	require.NoError(f, err)
	for _, seed := range []string{"", ".", "..", good, good[:len(good)-1], "eyJhbGciOiJub25lIn0.e30."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := s.Verify(text); err == nil {
			require.Equal(t, good, text, "only what was signed is accepted: %v", token)
		}
	})
}

func FuzzUserHeader(f *testing.F) {
	for _, seed := range []string{"", "1", "0", "-1", "9223372036854775808", " 1", "1,2", "１"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["X-User-Id"] = []string{header}
		user, err := labAuth{}.user(r)
		if err != nil {
			require.ErrorIs(t, err, errBadRequest)
			return
		}
		require.Positive(t, user)
	})
}
