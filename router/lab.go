package router

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

// resetVoucher makes a voucher new. The stock comes from ?stock=N or {"stock":N}; without it stays what it was.
func (a *api) resetVoucher(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	v, _, err := a.Vouchers.Get(ctx, id)
	if err != nil {
		return err
	}
	stock, err := resetStock(c, v.Stock)
	if err != nil {
		return err
	}
	if err := a.Vouchers.Reset(ctx, id, stock); err != nil {
		return err
	}
	v.Stock = stock
	out := showVoucher(v)
	out.StockLeft = &stock
	c.JSON(http.StatusOK, out)
	return nil
}

func resetStock(c *gin.Context, stock int) (int, error) {
	if _, named := c.GetQuery("stock"); named {
		return queryStock(c)
	}
	if c.Request.ContentLength == 0 {
		return stock, nil
	}
	body := struct {
		Stock *int `json:"stock"`
	}{&stock}
	if err := decode(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody), &body); err != nil {
		return 0, err
	}
	if body.Stock == nil {
		return 0, fmt.Errorf("%w: stock must be a number", service.ErrInvalid)
	}
	return *body.Stock, nil
}

func queryStock(c *gin.Context) (int, error) {
	stock, err := strconv.Atoi(c.Query("stock"))
	if err != nil {
		return 0, fmt.Errorf("%w: stock must be a number", errBadRequest)
	}
	return stock, nil
}

type orderRowJSON struct {
	ID     service.ID     `json:"id"`
	UserID int64          `json:"user_id,string"`
	Status service.Status `json:"status"`
}

func (a *api) listOrders(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	list, err := a.Vouchers.Orders(c.Request.Context(), id)
	if err != nil {
		return err
	}
	out := make([]orderRowJSON, len(list))
	for i, o := range list {
		out[i] = orderRowJSON{o.ID, o.UserID, o.Status}
	}
	c.JSON(http.StatusOK, out)
	return nil
}

func (a *api) listSpans(c *gin.Context) error {
	id, err := parseID(c.Query("voucher"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, a.Spans.Of(id))
	return nil
}

// Engines are what a server stores its data in.
type Engines struct {
	Redis EngineInfo `json:"redis"`
	DB    EngineInfo `json:"db"`
}

// EngineInfo is one engine, such as mariadb 11.4.2. An engine that tells no version has none.
type EngineInfo struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

func (a *api) showEngines(c *gin.Context) error {
	c.JSON(http.StatusOK, a.Engines)
	return nil
}

// sellRoutes are the simplest form of the lesson, for a browser and for any load tool: GET and POST.
func (a *api) sellRoutes(g *gin.RouterGroup) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for n := 1; n <= len(a.Sell.Locks); n++ {
			g.Handle(method, "/sell"+strconv.Itoa(n), a.handle(func(c *gin.Context) error { return a.sellOne(c, n) }))
		}
		g.Handle(method, "/sell/reset", a.handle(a.sellReset))
	}
}

func (a *api) sellOne(c *gin.Context, n int) error {
	left, err := a.Sell.One(c.Request.Context(), n)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"stock_left": left})
	return nil
}

func (a *api) sellReset(c *gin.Context) error {
	stock, err := queryStock(c)
	if err != nil {
		return err
	}
	if err := a.Sell.Reset(c.Request.Context(), stock); err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"stock_left": stock})
	return nil
}
