package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

// What can go wrong before the service is asked.
var (
	errBadRequest   = errors.New("bad request")
	errUnauthorized = errors.New("unauthorized")
	errNoRoute      = errors.New("no such page")
	errNoMethod     = errors.New("this page does not know that method")
	errRateLimited  = errors.New("too many requests are being served")
	errNotReady     = errors.New("not ready")
)

// answers is the one table from errors to statuses; the first row that matches counts, and an error without a row is
// 500 internal.
var answers = []struct {
	err    error
	status int
	code   string
	// text is what the client reads. Empty: the error's own words, which are ours and nobody else's.
	text string
}{
	{errBadRequest, http.StatusBadRequest, "bad_request", ""},
	{errUnauthorized, http.StatusUnauthorized, "unauthorized", ""},
	{service.ErrForbidden, http.StatusForbidden, "forbidden", ""},
	{service.ErrNotStarted, http.StatusForbidden, "not_started", "the sale has not started"},
	{service.ErrEnded, http.StatusForbidden, "ended", "the sale has ended"},
	{errNoRoute, http.StatusNotFound, "not_found", "no such page"},
	{service.ErrNotFound, http.StatusNotFound, "not_found", "not found"},
	{errNoMethod, http.StatusMethodNotAllowed, "method_not_allowed", ""},
	{service.ErrSoldOut, http.StatusConflict, "sold_out", "sold out"},
	{service.ErrAlreadyOrdered, http.StatusConflict, "already_ordered", "one order per user, and this user has one"},
	{service.ErrOrderInProgress, http.StatusConflict, "order_in_progress", "another order of this user is in progress"},
	{service.ErrInvalidState, http.StatusConflict, "invalid_state", "the order's state does not allow this"},
	{service.ErrInvalid, http.StatusUnprocessableEntity, "invalid", ""},
	{errRateLimited, http.StatusTooManyRequests, "rate_limited", ""},
	{service.ErrLockLost, http.StatusServiceUnavailable, "lock_lost", "the lock was lost before the order was written; try again"},
	{service.ErrGaveUp, http.StatusServiceUnavailable, "gave_up", "too many orders changed the stock at once; try again"},
	{service.ErrBusy, http.StatusServiceUnavailable, "busy", "busy; try again"},
	{service.ErrStoreBusy, http.StatusServiceUnavailable, "busy", "busy; try again"},
	{errNotReady, http.StatusServiceUnavailable, "not_ready", "the database or Redis does not answer"},
}

// failure is an error's answer.
func failure(err error) (status int, code, text string) {
	for _, row := range answers {
		if !errors.Is(err, row.err) {
			continue
		}
		if row.text == "" {
			row.text = strings.TrimPrefix(err.Error(), row.err.Error()+": ")
		}
		return row.status, row.code, row.text
	}
	return http.StatusInternalServerError, "internal", "internal error"
}

type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// blame does not let the database answer for a client that has gone or a server that stops: nothing was written then.
func blame(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", service.ErrBusy, err)
}

// fail answers with the error. What the client is not told is logged.
func (a *api) fail(c *gin.Context, err error) {
	status, body := a.refusal(c, err)
	if c.Writer.Written() {
		return // a panic after the answer began
	}
	retryLater(c, status)
	c.AbortWithStatusJSON(status, body)
}

// refusal logs the error and makes the answer of it.
func (a *api) refusal(c *gin.Context, err error) (int, errorBody) {
	ctx := c.Request.Context()
	err = blame(ctx, err)
	status, code, text := failure(err)
	level := slog.LevelDebug
	if status == http.StatusInternalServerError || errors.Is(err, errNotReady) {
		level = slog.LevelError
	}
	if a.Log.Enabled(ctx, level) { // refusals are most of a sale, and their attributes cost more than the answer
		a.Log.LogAttrs(ctx, level, "request failed", slog.String("code", code), slog.Any("error", err),
			slog.String("method", c.Request.Method), slog.String("route", c.FullPath()), slog.String("request_id", idOf(c)))
	}
	return status, errorBody{errorDetail{Code: code, Message: text}}
}

// retryLater adds the header that some statuses ask for.
func retryLater(c *gin.Context, status int) {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		c.Header("Retry-After", "1")
	case http.StatusUnauthorized:
		c.Header("WWW-Authenticate", "Bearer")
	}
}
