package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
		text   string
	}{
		{fmt.Errorf("%w: the body is odd", errBadRequest), 400, "bad_request", "the body is odd"},
		{service.ErrNotFound, 404, "not_found", "not found"},
		{service.ErrForbidden, 403, "forbidden", "not the owner"},
		{service.ErrNotStarted, 403, "not_started", "the sale has not started"},
		{service.ErrEnded, 403, "ended", "the sale has ended"},
		{service.ErrSoldOut, 409, "sold_out", "sold out"},
		{fmt.Errorf("%w: %w", service.ErrAlreadyOrdered, &mysql.MySQLError{Number: 1062, Message: "Duplicate entry"}), 409, "already_ordered", "one order per user, and this user has one"},
		{fmt.Errorf("%w: %w", service.ErrOrderInProgress, lock.ErrBusy), 409, "order_in_progress", "another order of this user is in progress"},
		{service.ErrInvalidState, 409, "invalid_state", "the order's state does not allow this"},
		{fmt.Errorf("%w: stock must be 0 to 5", service.ErrInvalid), 422, "invalid", "stock must be 0 to 5"},
		{fmt.Errorf("%w: %w", service.ErrBusy, errors.Join(lock.ErrBusy, context.Canceled)), 503, "busy", "busy; try again"},
		{fmt.Errorf("%w: %w", service.ErrStoreBusy, &mysql.MySQLError{Number: 1205, Message: "Lock wait"}), 503, "busy", "busy; try again"},
		{service.ErrGaveUp, 503, "gave_up", "too many orders changed the stock at once; try again"},
		{fmt.Errorf("%w: %w", service.ErrLockLost, lock.ErrExpired), 503, "lock_lost", "the lock was lost before the order was written; try again"},
		// What is not in the table says nothing of what it was.
		{&mysql.MySQLError{Number: 1146, Message: "Table 'orders' doesn't exist"}, 500, "internal", "internal error"},
		{errors.New("dial tcp 10.0.0.1:6379: connection refused"), 500, "internal", "internal error"},
		{lock.ErrInvalid, 500, "internal", "internal error"},
	} {
		status, code, text := failure(c.err)
		require.Equal(t, []any{c.status, c.code, c.text}, []any{status, code, text}, c.err)
	}
}

// Every sentinel of the service that an order can end with has its row.
func TestFailure_CoversTheService(t *testing.T) {
	for _, err := range []error{
		service.ErrNotFound, service.ErrForbidden, service.ErrNotStarted, service.ErrEnded, service.ErrSoldOut,
		service.ErrAlreadyOrdered, service.ErrOrderInProgress, service.ErrInvalidState, service.ErrInvalid,
		service.ErrBusy, service.ErrGaveUp, service.ErrLockLost, service.ErrStoreBusy,
	} {
		status, _, _ := failure(err)
		require.NotEqual(t, http.StatusInternalServerError, status, err)
	}
}
