package router

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/service"
)

type stageJSON struct {
	Name   string         `json:"name"`
	Tracks []string       `json:"tracks"`
	Parts  partsJSON      `json:"parts"`
	Text   service.Texts  `json:"text"`
	Claims service.Claims `json:"claims"`
}

type partsJSON struct {
	Lock        string `json:"lock"`
	LockKey     string `json:"lock_key"`
	LockSpan    string `json:"lock_span"`
	OnLoss      string `json:"on_loss"`
	StockUpdate string `json:"stock_update"`
	Unique      bool   `json:"unique"`
	Path        string `json:"path"`
	WaitMS      int64  `json:"wait_ms"` // negative: as long as the request lasts
	TTLMS       int64  `json:"ttl_ms"`
	CASRetries  int    `json:"cas_retries"`
}

func (a *api) stages(c *gin.Context) error {
	var out []stageJSON
	for _, s := range service.Ladder() {
		out = append(out, stageJSON{Name: s.Name, Tracks: s.Tracks, Text: s.Text, Claims: s.Claims, Parts: partsJSON{
			Lock: s.Lock, LockKey: s.LockKey, LockSpan: s.LockSpan, OnLoss: s.OnLoss, StockUpdate: s.StockUpdate,
			Unique: s.Unique, Path: s.Path, WaitMS: s.Wait.Milliseconds(), TTLMS: s.TTL.Milliseconds(), CASRetries: s.CASRetries,
		}})
	}
	c.JSON(http.StatusOK, out)
	return nil
}
