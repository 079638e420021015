package router

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// MinSecret is the shortest secret in bytes: as long as the hash of HS256.
const MinSecret = 32

// Token is what a bearer token says.
type Token struct {
	User      int64    // 0: none; enough for an administrator
	Scopes    []string // ScopeBuy, ScopeAdmin
	ExpiresAt time.Time
}

// Has tells whether the token carries the scope.
func (t Token) Has(scope string) bool { return slices.Contains(t.Scopes, scope) }

// Signer signs and checks tokens (JWT, HS256). Safe for concurrent use.
type Signer struct {
	secret []byte
	parser *jwt.Parser
}

type tokenClaims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"` // separated by spaces, as in OAuth 2
}

// NewSigner refuses a secret that is shorter than MinSecret bytes.
func NewSigner(secret string) (*Signer, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the token secret has %d bytes and needs at least %d", len(secret), MinSecret)
	}
	return &Signer{secret: []byte(secret), parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithStrictDecoding())}, nil
}

// Sign makes the text of a token.
func (s *Signer) Sign(t Token) (string, error) {
	for _, scope := range t.Scopes {
		if scope != ScopeBuy && scope != ScopeAdmin {
			return "", fmt.Errorf("scope %q is none of %s, %s", scope, ScopeBuy, ScopeAdmin)
		}
	}
	if t.User < 0 || (t.User == 0 && t.Has(ScopeBuy)) {
		return "", fmt.Errorf("a token with the scope %s needs a positive user id", ScopeBuy)
	}
	claims := tokenClaims{Scope: strings.Join(t.Scopes, " "), RegisteredClaims: jwt.RegisteredClaims{
		IssuedAt: jwt.NewNumericDate(time.Now()), ExpiresAt: jwt.NewNumericDate(t.ExpiresAt),
	}}
	if t.User > 0 {
		claims.Subject = strconv.FormatInt(t.User, 10)
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(s.secret)
}

// Verify reads a token: signature, algorithm and expiry must be right.
func (s *Signer) Verify(text string) (Token, error) {
	var claims tokenClaims
	if _, err := s.parser.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return s.secret, nil }); err != nil {
		return Token{}, err
	}
	t := Token{Scopes: strings.Fields(claims.Scope), ExpiresAt: claims.ExpiresAt.Time}
	if claims.Subject == "" {
		return t, nil
	}
	user, err := parseUser(claims.Subject)
	t.User = user
	return t, err
}
