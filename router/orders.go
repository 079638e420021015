package router

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

type placedJSON struct {
	OrderID service.ID     `json:"order_id"`
	Status  service.Status `json:"status"`
}

type orderJSON struct {
	ID         service.ID     `json:"id"`
	VoucherID  service.ID     `json:"voucher_id"`
	UserID     int64          `json:"user_id,string"`
	Status     service.Status `json:"status"`
	PriceCents int64          `json:"price_cents"`
	CreatedAt  time.Time      `json:"created_at"`
	UpdatedAt  time.Time      `json:"updated_at"`
}

// placeOrder hands on the request's own context: a *gin.Context never ends.
func (a *api) placeOrder(c *gin.Context) error {
	voucher, err := pathID(c)
	if err != nil {
		return err
	}
	user, err := a.auth.user(c.Request)
	if err != nil {
		return err
	}
	stage, err := a.stageOf(c)
	if err != nil {
		return err
	}
	p := placing{stage, voucher, user}
	if key := c.GetHeader(idempotencyKey); key != "" && a.Idempotency != nil {
		return a.placeOnce(c, p, key)
	}
	order, err := a.place(c, p, 0)
	if err != nil {
		return err
	}
	c.Header("Location", orderPath(order.ID))
	c.JSON(placedStatus(order), placedJSON{order.ID, order.Status})
	return nil
}

// count tells the metrics how an order ended. Its outcome is the order's first state or the code of the refusal.
func (a *api) count(ctx context.Context, stage service.Stage, order service.Order, err error, took time.Duration) {
	if a.Metrics == nil {
		return
	}
	outcome := string(order.Status)
	if err != nil {
		_, outcome, _ = failure(blame(ctx, err))
	}
	a.Metrics.Order(stage.Name, outcome, took)
}

// stageOf is the server's stage, or in lab mode the one that the request names.
func (a *api) stageOf(c *gin.Context) (service.Stage, error) {
	name, named := c.GetQuery("stage")
	if !named {
		return a.Stage, nil
	}
	if !a.Lab {
		return service.Stage{}, fmt.Errorf("%w: only a server in lab mode lets a request choose its stage", errBadRequest)
	}
	stage, err := a.StageFor(name)
	if err != nil {
		return service.Stage{}, fmt.Errorf("%w: %v", errBadRequest, err)
	}
	return stage, nil
}

func (a *api) getOrder(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	user, err := a.auth.user(c.Request)
	if err != nil {
		return err
	}
	o, err := a.Vouchers.Order(c.Request.Context(), id, user)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, showOrder(o))
	return nil
}

func showOrder(o service.Order) orderJSON {
	return orderJSON{
		ID: o.ID, VoucherID: o.VoucherID, UserID: o.UserID, Status: o.Status, PriceCents: o.PriceCents,
		CreatedAt: o.CreatedAt.UTC(), UpdatedAt: o.UpdatedAt.UTC(),
	}
}
