package router

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// readyWithin bounds one look at the database and Redis.
const readyWithin = 2 * time.Second

// health says that the process serves.
func (a *api) health(c *gin.Context) error {
	c.JSON(http.StatusOK, gin.H{"status": "ok"})
	return nil
}

// ready says that the process can place orders: the database and Redis answer. It also tells how many accepted orders
// wait to be written, and for how long; above all when the database is away and they do wait.
func (a *api) ready(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyWithin)
	defer cancel()
	queue, err := a.queueState(ctx)
	if err == nil && a.Ready != nil {
		err = a.Ready(ctx)
	}
	if err == nil {
		c.JSON(http.StatusOK, readyJSON{Status: "ready", Queue: queue})
		return nil
	}
	status, body := a.refusal(c, fmt.Errorf("%w: %w", errNotReady, err))
	retryLater(c, status)
	c.JSON(status, notReadyJSON{errorBody: body, Queue: queue})
	return nil
}
