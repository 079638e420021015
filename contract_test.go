package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"

	"seckill/router"
	"seckill/service"
)

// labServer runs `serve` on embedded engines until the test ends, and returns its URL.
func labServer(t *testing.T, args ...string) string {
	t.Helper()
	var e event
	line := runUntilEnd(t, append([]string{"serve", "--addr=127.0.0.1:0", "--log-level=error"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(line), &e))
	require.Equal(t, eventListening, e.Event)
	return e.URL
}

// runUntilEnd runs a command line until the test ends, and returns the first line that it prints.
func runUntilEnd(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var problems bytes.Buffer
	go func() {
		code := run(ctx, args, stdio{strings.NewReader(""), in, &problems})
		_ = in.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		cancel()
		require.Zero(t, <-ended, "%s", &problems)
	})
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("%v ended with %d: %s", args, <-ended, &problems)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return line
}

// contract asks a server, and holds every answer against openapi.json.
type contract struct {
	t      *testing.T
	url    string
	routes routers.Router
	seen   map[string]bool // "METHOD /path status"
}

func newContract(t *testing.T, url string) *contract {
	spec, err := openapi3.NewLoader().LoadFromData(router.OpenAPI)
	require.NoError(t, err)
	routes, err := legacy.NewRouter(spec)
	require.NoError(t, err)
	return &contract{t, url, routes, map[string]bool{}}
}

// ask sends a request and returns its JSON answer, whose status must be the one given.
func (c *contract) ask(status int, method, path, body string, header ...string) map[string]any {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, status, resp.StatusCode, "%s %s: %s", method, path, answer)

	relative, err := http.NewRequest(method, path, nil)
	require.NoError(c.t, err)
	route, parameters, err := c.routes.FindRoute(relative)
	require.NoError(c.t, err, "%s %s", method, path)
	err = openapi3filter.ValidateResponse(c.t.Context(), (&openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: relative, Route: route, PathParams: parameters},
		Status:                 resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: method == http.MethodHead},
	}).SetBodyBytes(answer))
	require.NoError(c.t, err, "%s %s: %s", method, path, answer)
	c.seen[fmt.Sprintf("%s %s %d", method, route.Path, status)] = true
	var object map[string]any
	_ = json.Unmarshal(answer, &object) // a list or a text is not looked into
	return object
}

func (c *contract) voucher(stock int, begin, end time.Time) string {
	c.t.Helper()
	v := c.ask(201, "POST", "/api/v1/vouchers", fmt.Sprintf(`{"title":"t","stock":%d,"price_cents":100,"begin_at":%q,"end_at":%q}`,
		stock, begin.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)))
	return "/api/v1/vouchers/" + v["id"].(string)
}

// Real answers of a real server have the shapes that openapi.json promises, and every success that it describes has
// been seen.
func TestAnswersKeepToOpenAPI(t *testing.T) {
	c := newContract(t, labServer(t, "--stage=fenced"))
	now := time.Now()
	v := c.voucher(1, now.Add(-time.Hour), now.Add(time.Hour))
	early, late := c.voucher(1, now.Add(time.Hour), now.Add(2*time.Hour)), c.voucher(1, now.Add(-2*time.Hour), now.Add(-time.Hour))

	order := c.ask(201, "POST", v+"/orders", "", "X-User-ID", "9007199254740993")
	c.ask(409, "POST", v+"/orders", "", "X-User-ID", "9007199254740993")
	c.ask(409, "POST", v+"/orders", "", "X-User-ID", "2")
	c.ask(400, "POST", v+"/orders", "", "X-User-ID", "-1")
	c.ask(400, "POST", v+"/orders?stage=nonsense", "", "X-User-ID", "2")
	c.ask(404, "POST", "/api/v1/vouchers/1/orders", "", "X-User-ID", "2")
	c.ask(403, "POST", early+"/orders", "", "X-User-ID", "2")
	c.ask(403, "POST", late+"/orders", "", "X-User-ID", "2")
	own := "/api/v1/orders/" + order["order_id"].(string)
	c.ask(200, "GET", own, "", "X-User-ID", "9007199254740993")
	c.ask(403, "GET", own, "", "X-User-ID", "2")
	c.ask(404, "GET", "/api/v1/orders/1", "", "X-User-ID", "2")

	c.ask(200, "GET", "/api/v1/vouchers", "")
	c.ask(200, "GET", v, "")
	c.ask(400, "GET", "/api/v1/vouchers/x", "")
	c.ask(404, "GET", "/api/v1/vouchers/1", "")
	c.ask(400, "POST", "/api/v1/vouchers", "{")
	c.ask(422, "POST", "/api/v1/vouchers", "{}")
	audit := c.ask(200, "GET", v+"/audit", "")
	require.EqualValues(t, 1, audit["orders"])
	c.ask(200, "GET", v+"/orders", "")
	c.ask(200, "GET", "/api/v1/stages", "")
	c.ask(200, "GET", "/api/v1/lab/spans?voucher="+strings.TrimPrefix(v, "/api/v1/vouchers/"), "")
	c.ask(400, "GET", "/api/v1/lab/spans", "")
	c.ask(200, "GET", "/api/v1/lab/engines", "")
	c.ask(200, "POST", v+"/reset?stock=3", "")
	c.ask(422, "POST", v+"/reset", `{"stock":-1}`)
	for _, method := range []string{"GET", "POST"} {
		c.ask(200, method, "/sell/reset?stock=3", "")
		c.ask(422, method, "/sell/reset?stock=-1", "")
		for _, path := range []string{"/sell1", "/sell2", "/sell3"} {
			c.ask(200, method, path, "")
		}
		c.ask(409, method, "/sell1", "")
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		c.ask(200, "GET", path, "")
		c.ask(200, "HEAD", path, "")
	}
	c.ask(200, "GET", "/metrics", "")
	c.ask(200, "GET", "/openapi.json", "")
	c.askForPage()
	if _, err := service.StageByName("stream"); err != nil {
		t.Skip("the stream is not on the ladder: there are no accepted orders, and nothing to pay")
	}
	c.askForLife()
	c.requireEverySuccess()
}

// askForLife follows accepted orders to their ends.
func (c *contract) askForLife() {
	c.t.Helper()
	v := c.voucher(2, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.ask(200, "POST", v+"/preheat", "")
	c.ask(404, "POST", "/api/v1/vouchers/1/preheat", "")
	accept := func(user string) string {
		placed := c.ask(202, "POST", v+"/orders?stage=stream", "", "X-User-ID", user)
		own := "/api/v1/orders/" + placed["order_id"].(string)
		require.Eventually(c.t, func() bool {
			return c.ask(200, "GET", own, "", "X-User-ID", user)["status"] == "created"
		}, 30*time.Second, 20*time.Millisecond, "a worker writes it")
		return own
	}
	first, second := accept("1"), accept("2")
	c.ask(409, "POST", v+"/orders?stage=stream", "", "X-User-ID", "1")
	c.ask(409, "POST", v+"/orders?stage=stream", "", "X-User-ID", "3")
	require.Equal(c.t, "paid", c.ask(200, "POST", first+"/pay", "", "X-User-ID", "1")["status"])
	require.Equal(c.t, "cancelled", c.ask(200, "POST", second+"/cancel", "", "X-User-ID", "2")["status"])
	c.ask(409, "POST", second+"/pay", "", "X-User-ID", "2")
	c.ask(403, "POST", first+"/cancel", "", "X-User-ID", "2")
	c.ask(404, "POST", "/api/v1/orders/1/pay", "", "X-User-ID", "2")
	c.ask(200, "GET", v+"/audit", "")
}

func (c *contract) requireEverySuccess() {
	c.t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(router.OpenAPI)
	require.NoError(c.t, err)
	for path, item := range spec.Paths.Map() {
		for method, o := range item.Operations() {
			for status := range o.Responses.Map() {
				if status[0] == '2' {
					require.Contains(c.t, c.seen, method+" "+path+" "+status, "this test has not seen it")
				}
			}
		}
	}
}

// Outside of lab mode the same holds with tokens, and without one nothing is told.
func TestTokenAnswersKeepToOpenAPI(t *testing.T) {
	secret := strings.Repeat("s", router.MinSecret)
	c := newContract(t, labServer(t, "--lab=off", "--token-secret="+secret, "--stage=conditional"))
	signer, err := router.NewSigner(secret)
	require.NoError(t, err)
	bearer := func(user int64, scopes ...string) string {
		text, err := signer.Sign(router.Token{User: user, Scopes: scopes, ExpiresAt: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		return "Bearer " + text
	}
	now := time.Now().UTC()
	body := fmt.Sprintf(`{"title":"t","stock":1,"price_cents":1,"begin_at":%q,"end_at":%q}`,
		now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	c.ask(401, "POST", "/api/v1/vouchers", body)
	c.ask(403, "POST", "/api/v1/vouchers", body, "Authorization", bearer(1, router.ScopeBuy))
	v := "/api/v1/vouchers/" + c.ask(201, "POST", "/api/v1/vouchers", body, "Authorization", bearer(0, router.ScopeAdmin))["id"].(string)
	c.ask(401, "POST", v+"/orders", "", "X-User-ID", "1")
	c.ask(201, "POST", v+"/orders", "", "Authorization", bearer(1, router.ScopeBuy))
	c.ask(401, "GET", v+"/audit", "")
	c.ask(200, "GET", v+"/audit", "", "Authorization", bearer(0, router.ScopeAdmin))
}
