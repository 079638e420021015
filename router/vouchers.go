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

// maxBody bounds a request's body in bytes.
const maxBody = 64 << 10

// voucherJSON is a voucher as clients see it. Ids are strings, because a browser's numbers lose digits.
type voucherJSON struct {
	ID         service.ID `json:"id"`
	Title      string     `json:"title"`
	Stock      int        `json:"stock"` // initial
	StockLeft  *int       `json:"stock_left,omitempty"`
	PriceCents int64      `json:"price_cents"`
	BeginAt    time.Time  `json:"begin_at"`
	EndAt      time.Time  `json:"end_at"`
	CreatedAt  time.Time  `json:"created_at"`
}

func showVoucher(v service.Voucher) voucherJSON {
	return voucherJSON{
		ID: v.ID, Title: v.Title, Stock: v.Stock, PriceCents: v.PriceCents,
		BeginAt: v.BeginAt.UTC(), EndAt: v.EndAt.UTC(), CreatedAt: v.CreatedAt.UTC(),
	}
}

// voucherRequest tells what is absent from what is zero: a stock of 0 is a stock.
type voucherRequest struct {
	Title      *string `json:"title"`
	Stock      *int    `json:"stock"`
	PriceCents *int64  `json:"price_cents"`
	BeginAt    *string `json:"begin_at"`
	EndAt      *string `json:"end_at"`
}

func (a *api) createVoucher(c *gin.Context) error {
	if err := a.auth.admin(c.Request); err != nil {
		return err
	}
	n, err := parseVoucher(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		return err
	}
	v, err := a.Vouchers.Create(c.Request.Context(), n)
	if err != nil {
		return err
	}
	c.Header("Location", "/api/v1/vouchers/"+v.ID.String())
	c.JSON(http.StatusCreated, showVoucher(v))
	return nil
}

// parseVoucher reads the body of a create. What is no JSON of that shape is a bad request; a value that is missing or
// no time is invalid.
func parseVoucher(body io.Reader) (service.NewVoucher, error) {
	var r voucherRequest
	if err := decode(body, &r); err != nil {
		return service.NewVoucher{}, err
	}
	for _, field := range []struct {
		name   string
		absent bool
	}{
		{"title", r.Title == nil}, {"stock", r.Stock == nil}, {"price_cents", r.PriceCents == nil},
		{"begin_at", r.BeginAt == nil}, {"end_at", r.EndAt == nil},
	} {
		if field.absent {
			return service.NewVoucher{}, fmt.Errorf("%w: %s is missing", service.ErrInvalid, field.name)
		}
	}
	n := service.NewVoucher{Title: *r.Title, Stock: *r.Stock, PriceCents: *r.PriceCents}
	var err error
	if n.BeginAt, err = parseTime("begin_at", *r.BeginAt); err != nil {
		return service.NewVoucher{}, err
	}
	n.EndAt, err = parseTime("end_at", *r.EndAt)
	return n, err
}

func parseTime(name, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %s must be a time like 2026-01-02T15:04:05Z (RFC 3339)", service.ErrInvalid, name)
	}
	return t, nil
}

// decode reads exactly one JSON value with no unknown fields.
func decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
			return fmt.Errorf("%w: the body is longer than %d bytes", errBadRequest, tooLong.Limit)
		}
		return fmt.Errorf("%w: the body is not the JSON object expected: %v", errBadRequest, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the JSON object", errBadRequest)
	}
	return nil
}

func (a *api) listVouchers(c *gin.Context) error {
	list, err := a.Vouchers.List(c.Request.Context())
	if err != nil {
		return err
	}
	out := make([]voucherJSON, len(list))
	for i, v := range list {
		out[i] = showVoucher(v)
	}
	c.JSON(http.StatusOK, out)
	return nil
}

func (a *api) getVoucher(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	v, stock, err := a.Vouchers.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	out := showVoucher(v)
	out.StockLeft = &stock.Left
	c.JSON(http.StatusOK, out)
	return nil
}

func (a *api) audit(c *gin.Context) error {
	if err := a.auth.admin(c.Request); err != nil {
		return err
	}
	id, err := pathID(c)
	if err != nil {
		return err
	}
	audit, err := a.Vouchers.Audit(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, audit)
	return nil
}

// pathID is the id in the path.
func pathID(c *gin.Context) (service.ID, error) { return parseID(c.Param("id")) }

func parseID(s string) (service.ID, error) {
	id, err := service.ParseID(s)
	if err != nil {
		return 0, fmt.Errorf("%w: the id must be a positive 64-bit decimal", errBadRequest)
	}
	return id, nil
}
