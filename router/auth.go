package router

import (
	"fmt"
	"net/http"
	"strings"

	"seckill/service"
)

// Scopes of a token.
const (
	ScopeBuy   = "buy"   // place orders and read one's own
	ScopeAdmin = "admin" // create and audit vouchers
)

// auth tells who is asking.
type auth interface {
	// user is the buyer's id.
	user(*http.Request) (int64, error)
	// admin is nil for an administrator.
	admin(*http.Request) error
}

// labAuth believes the header X-User-ID and lets everybody administrate.
type labAuth struct{}

func (labAuth) user(r *http.Request) (int64, error) { return parseUser(r.Header.Get("X-User-ID")) }

func (labAuth) admin(*http.Request) error { return nil }

// parseUser reads a positive decimal user id.
func parseUser(s string) (int64, error) {
	id, err := service.ParseID(s)
	if err != nil {
		return 0, fmt.Errorf("%w: X-User-ID must be a positive integer", errBadRequest)
	}
	return int64(id), nil
}

// tokenAuth believes what it has signed.
type tokenAuth struct{ signer *Signer }

func (t tokenAuth) user(r *http.Request) (int64, error) {
	token, err := t.token(r, ScopeBuy)
	if err != nil {
		return 0, err
	}
	if token.User <= 0 {
		return 0, fmt.Errorf("%w: the token names no user", service.ErrForbidden)
	}
	return token.User, nil
}

func (t tokenAuth) admin(r *http.Request) error {
	_, err := t.token(r, ScopeAdmin)
	return err
}

// token is the request's valid token; it must have the scope.
func (t tokenAuth) token(r *http.Request, scope string) (Token, error) {
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Token{}, fmt.Errorf("%w: a bearer token is required", errUnauthorized)
	}
	token, err := t.signer.Verify(strings.TrimSpace(text))
	if err != nil {
		return Token{}, fmt.Errorf("%w: the token is not valid or has expired", errUnauthorized)
	}
	if !token.Has(scope) {
		return Token{}, fmt.Errorf("%w: the token lacks the scope %s", service.ErrForbidden, scope)
	}
	return token, nil
}
