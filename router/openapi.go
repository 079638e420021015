package router

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// OpenAPI describes the HTTP interface (OpenAPI 3.0). A test holds it against the routes and the table of errors.
//
//go:embed openapi.json
var OpenAPI []byte

func openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/json; charset=utf-8", OpenAPI)
	return nil
}
