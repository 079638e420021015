package router

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

func (a *api) payOrder(c *gin.Context) error    { return a.moveOrder(c, a.Life.Pay) }
func (a *api) cancelOrder(c *gin.Context) error { return a.moveOrder(c, a.Life.Cancel) }

// moveOrder takes one step in the life of the caller's own order.
func (a *api) moveOrder(c *gin.Context, move func(context.Context, service.ID, int64) (service.Order, error)) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	user, err := a.auth.user(c.Request)
	if err != nil {
		return err
	}
	o, err := move(c.Request.Context(), id, user)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, showOrder(o))
	return nil
}

type preheatJSON struct {
	VoucherID service.ID         `json:"voucher_id"`
	Made      bool               `json:"made"` // false: the gate was there, and its window was refreshed
	Gate      *service.GateAudit `json:"gate"`
}

// preheat makes a voucher's gate in Redis. It may be called at any time, also during the sale.
func (a *api) preheat(c *gin.Context) error {
	if err := a.auth.admin(c.Request); err != nil {
		return err
	}
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	made, err := a.Preheater.Preheat(ctx, id)
	if err != nil {
		return err
	}
	audit, err := a.Vouchers.Audit(ctx, id)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, preheatJSON{VoucherID: id, Made: made, Gate: audit.Gate})
	return nil
}

type queueJSON struct {
	Messages int64 `json:"messages"`  // accepted orders that are not written yet
	OldestMS int64 `json:"oldest_ms"` // age of the oldest of those
	Dead     int64 `json:"dead"`      // dead letters
}

type readyJSON struct {
	Status string     `json:"status"`
	Queue  *queueJSON `json:"queue,omitempty"` // absent where the process knows no order stream
}

type notReadyJSON struct {
	errorBody
	Queue *queueJSON `json:"queue,omitempty"`
}

// queueState is the order stream's depth and age; nil when there is none or Redis does not say. A long queue does not make the process unready: it still accepts.
func (a *api) queueState(ctx context.Context) (*queueJSON, error) {
	if a.Queue == nil {
		return nil, nil
	}
	d, err := a.Queue.Depth(ctx)
	if err != nil {
		return nil, err
	}
	return &queueJSON{Messages: d.Messages, OldestMS: d.Oldest.Milliseconds(), Dead: d.Dead}, nil
}
