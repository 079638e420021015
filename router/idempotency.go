package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

const (
	idempotencyKey   = "Idempotency-Key"
	idempotentReplay = "Idempotent-Replayed" // "true" on an answer that was given before
)

// placing is one request for an order, with everything it needs already read.
type placing struct {
	stage   service.Stage
	voucher service.ID
	user    int64
}

// place runs the order under the id (0: a new one) and counts how it ended.
func (a *api) place(c *gin.Context, p placing, id service.ID) (service.Order, error) {
	ctx, began := c.Request.Context(), time.Now()
	order, err := a.Placer.PlaceAs(ctx, p.stage, p.voucher, p.user, id)
	a.count(ctx, p.stage, order, err, time.Since(began))
	return order, err
}

// placeOnce is place for a request that carries an Idempotency-Key.
func (a *api) placeOnce(c *gin.Context, p placing, key string) error {
	hash, err := requestHash(c)
	if err != nil {
		return err
	}
	reply, again, err := a.Idempotency.Do(c.Request.Context(), p.user, key, hash, func(id service.ID) service.Reply {
		order, err := a.placeAgain(c, p, id)
		return a.reply(c, order, err)
	})
	if err != nil {
		return err
	}
	if again {
		c.Header(idempotentReplay, "true")
	}
	var placed placedJSON
	if reply.Status < http.StatusBadRequest && json.Unmarshal(reply.Body, &placed) == nil {
		c.Header("Location", orderPath(placed.OrderID))
	}
	retryLater(c, reply.Status)
	c.Data(reply.Status, "application/json; charset=utf-8", reply.Body)
	return nil
}

// placeAgain places the order, unless an earlier attempt with its key had placed it and died before it could answer.
// When that order was accepted and then failed, its id is spent: the client is told to try again, and since that is no
// definite answer the key is free for an order with a new id.
func (a *api) placeAgain(c *gin.Context, p placing, id service.ID) (service.Order, error) {
	order, err := a.Vouchers.Order(c.Request.Context(), id, p.user)
	switch {
	case errors.Is(err, service.ErrNotFound):
		return a.place(c, p, id)
	case err == nil && order.Status == service.Failed:
		return service.Order{}, fmt.Errorf("%w: the first request with this Idempotency-Key failed; try again", service.ErrBusy)
	}
	return order, err
}

// reply renders how the order ended, and tells whether that may be repeated for ever. Not yet open, busy and failed
// may all be different a moment later.
func (a *api) reply(c *gin.Context, order service.Order, err error) service.Reply {
	if err == nil {
		return service.Reply{Status: placedStatus(order), Body: asJSON(placedJSON{order.ID, order.Status}), Definite: true}
	}
	status, body := a.refusal(c, err)
	definite := false
	for _, last := range []error{service.ErrSoldOut, service.ErrAlreadyOrdered, service.ErrEnded} {
		definite = definite || errors.Is(err, last)
	}
	return service.Reply{Status: status, Body: asJSON(body), Definite: definite && status < http.StatusInternalServerError}
}

// asJSON renders our own types, which can't fail.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func placedStatus(o service.Order) int {
	if o.Status == service.Pending {
		return http.StatusAccepted
	}
	return http.StatusCreated
}

func orderPath(id service.ID) string { return "/api/v1/orders/" + id.String() }

// requestHash names the request by method, path, the stage it chooses and its body.
func requestHash(c *gin.Context) (string, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		return "", fmt.Errorf("%w: the body can't be read or is longer than %d bytes", errBadRequest, maxBody)
	}
	return service.RequestHash(c.Request.Method, c.Request.URL.Path, c.Query("stage"), string(body)), nil
}
