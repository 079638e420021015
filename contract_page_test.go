package main

import (
	"strings"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/require"
)

// Texts that the page is made of and answered with; the library knows application types and plain text.
func init() {
	for _, text := range []string{"text/html", "text/javascript", "text/markdown", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.FileBodyDecoder)
	}
}

// askForPage loads the page, and runs and cancels what it runs and cancels.
func (c *contract) askForPage() {
	c.t.Helper()
	for _, path := range []string{"/", "/web/app.js"} {
		c.ask(200, "GET", path, "")
		c.ask(200, "HEAD", path, "")
	}
	c.ask(404, "GET", "/web/none.js", "")
	require.Equal(c.t, true, c.ask(200, "GET", "/api/v1/about", "")["runs"])
	c.ask(200, "GET", "/api/v1/stages/lua/source", "")
	c.ask(404, "GET", "/api/v1/stages/nobody/source", "")
	c.ask(200, "GET", "/api/v1/lab/runs/info", "")
	c.ask(400, "POST", "/api/v1/lab/runs", "{")
	c.ask(422, "POST", "/api/v1/lab/runs", `{"stage":"mutex","scenario":"sunshine"}`)

	long := "/api/v1/lab/runs/" + c.ask(202, "POST", "/api/v1/lab/runs", `{"stage":"mutex","scenario":"multi","work_ms":2000}`)["id"].(string)
	c.ask(200, "POST", long+"/cancel", "")
	c.ask(200, "GET", long+"/events", "") // to its end
	require.Equal(c.t, "cancelled", c.ask(200, "GET", long, "")["status"])
	c.ask(409, "GET", long+"/report", "")

	short := "/api/v1/lab/runs/" + c.ask(202, "POST", "/api/v1/lab/runs",
		`{"stage":"mutex","scenario":"multi","users":40,"stock":10,"prediction":["oversold"]}`)["id"].(string)
	c.ask(200, "GET", short+"/events", "")
	done := c.ask(200, "GET", short, "")
	require.Equal(c.t, "done", done["status"], done["problem"])
	require.Contains(c.t, done["outcome"], "oversold")
	for _, format := range strings.Fields("json markdown html") {
		c.ask(200, "GET", short+"/report?format="+format, "")
	}
	c.ask(400, "GET", short+"/report?format=pdf", "")
	c.ask(409, "POST", short+"/cancel", "")
	c.ask(404, "GET", "/api/v1/lab/runs/nobody", "")
	c.ask(200, "GET", "/api/v1/lab/runs", "")
}
