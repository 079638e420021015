package router

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

const voucherBody = `{"title":"phone","stock":%s,"price_cents":9900,"begin_at":"2026-01-01T08:00:00+08:00","end_at":"2099-01-01T00:00:00Z"}`

func TestVouchers(t *testing.T) {
	s := newShop(t)
	made := s.do("POST", "/api/v1/vouchers", fmt.Sprintf(voucherBody, "0")).is(201, "")
	var v map[string]any
	made.into(&v)
	require.IsType(t, "", v["id"], "S-64: ids are strings")
	require.Equal(t, "2026-01-01T00:00:00Z", v["begin_at"], "S-60: UTC")
	require.EqualValues(t, 0, v["stock"], "S-62: 0 is a stock")
	path := "/api/v1/vouchers/" + v["id"].(string)
	require.Equal(t, path, made.Header.Get("Location"))

	var got map[string]any
	s.do("GET", path, "").is(200, "").into(&got)
	require.EqualValues(t, 0, got["stock_left"])
	delete(got, "stock_left")
	require.Equal(t, v, got)
	var list []map[string]any
	s.do("GET", "/api/v1/vouchers", "").is(200, "").into(&list)
	require.Equal(t, []map[string]any{v}, list)
	s.do("POST", path+"/orders", "", "X-User-ID: 1").is(409, "sold_out")
}

func TestVouchers_BadBodies(t *testing.T) {
	s := newShop(t)
	for body, want := range map[string]int{
		"": 400, "null x": 400, "[]": 400, `"x"`: 400, `{"title":"a"`: 400, `{"nonsense":1}`: 400,
		fmt.Sprintf(voucherBody, "1") + "{}": 400, fmt.Sprintf(voucherBody, `"1"`): 400,
		fmt.Sprintf(voucherBody, "1.5"): 400, fmt.Sprintf(voucherBody, "99999999999999999999"): 400,
		strings.Repeat(" ", maxBody) + "{}": 400,
		"{}":                                422, "null": 422, fmt.Sprintf(voucherBody, "null"): 422, fmt.Sprintf(voucherBody, "-1"): 422,
		strings.Replace(fmt.Sprintf(voucherBody, "1"), "2099-01-01T00:00:00Z", "2099-01-01", 1):           422,
		strings.Replace(fmt.Sprintf(voucherBody, "1"), "2099-01-01T00:00:00Z", "2025-01-01T00:00:00Z", 1): 422,
	} {
		code := map[int]string{400: "bad_request", 422: "invalid"}[want]
		s.do("POST", "/api/v1/vouchers", body).is(want, code)
	}
	require.Contains(t, s.do("POST", "/api/v1/vouchers", strings.Repeat(" ", maxBody)+"{}").Body, "longer than 65536 bytes")
	require.Contains(t, s.do("POST", "/api/v1/vouchers", "{}").Body, "title is missing")
}

func TestOrders(t *testing.T) {
	s := newShop(t)
	path := s.voucher(2)
	placed := s.do("POST", path+"/orders", "", "X-User-ID: 9007199254740993").is(201, "")
	var p map[string]any
	placed.into(&p)
	require.Equal(t, "created", p["status"])
	require.Len(t, p, 2)
	order := "/api/v1/orders/" + p["order_id"].(string)
	require.Equal(t, order, placed.Header.Get("Location"))
	s.do("POST", path+"/orders", "", "X-User-ID: 9007199254740993").is(409, "already_ordered")
	s.do("POST", path+"/orders?click=2.1", "", "X-User-ID: 2").is(201, "")
	s.do("POST", path+"/orders", "", "X-User-ID: 3").is(409, "sold_out")

	var got map[string]any
	s.do("GET", order, "", "X-User-ID: 9007199254740993").is(200, "").into(&got)
	require.Equal(t, "9007199254740993", got["user_id"], "S-64: no digit is lost")
	s.do("GET", order, "", "X-User-ID: 2").is(403, "forbidden")
	s.do("GET", "/api/v1/orders/1", "", "X-User-ID: 2").is(404, "not_found")

	var audit service.Audit
	s.do("GET", path+"/audit", "").is(200, "").into(&audit)
	require.Equal(t, 2, audit.Orders)
	require.Equal(t, 0, audit.StockLeft)
	s.do("GET", "/api/v1/vouchers/1/audit", "").is(404, "not_found")
}

// S-66, and the same for users.
func TestOddIDs(t *testing.T) {
	s := newShop(t)
	path := s.voucher(2)
	for _, id := range []string{"0", "-1", "abc", "1.5", "9223372036854775808", "99999999999999999999999999", "%00", "%2e%2e", "1%20", "é"} {
		for _, target := range []string{"/api/v1/vouchers/%s", "/api/v1/vouchers/%s/audit", "/api/v1/orders/%s"} {
			s.do("GET", fmt.Sprintf(target, id), "", "X-User-ID: 1").is(400, "bad_request")
		}
		s.do("POST", fmt.Sprintf("/api/v1/vouchers/%s/orders", id), "", "X-User-ID: 1").is(400, "bad_request")
	}
	for _, unknown := range []string{"1", "9223372036854775807"} {
		s.do("GET", "/api/v1/vouchers/"+unknown, "").is(404, "not_found")
		s.do("POST", "/api/v1/vouchers/"+unknown+"/orders", "", "X-User-ID: 1").is(404, "not_found")
	}
	for _, user := range []string{"", "0", "-1", "bob", "9223372036854775808", "1, 2"} {
		s.do("POST", path+"/orders", "", "X-User-ID: "+user).is(400, "bad_request")
	}
	s.do("POST", path+"/orders", "").is(400, "bad_request")
}

// S-27 over HTTP; the window's own tests stand with the service.
func TestWindow(t *testing.T) {
	s := newShop(t)
	path, now := s.voucher(2), time.Now()
	for code, at := range map[string]time.Time{"not_started": now.Add(-2 * time.Hour), "ended": now.Add(2 * time.Hour)} {
		s.options.Placer.Now = func() time.Time { return at }
		s.do("POST", path+"/orders", "", "X-User-ID: 1").is(403, code)
	}
}

func TestLab_ChoosesTheStage(t *testing.T) {
	s := newShop(t)
	path := s.voucher(5)
	s.do("POST", path+"/orders?stage=mutex", "", "X-User-ID: 1").is(201, "")
	s.do("POST", path+"/orders?stage=no-such-stage", "", "X-User-ID: 2").is(400, "bad_request")
	s.do("POST", path+"/orders?stage=", "", "X-User-ID: 2").is(400, "bad_request")

	var spans []service.Span
	s.do("GET", "/api/v1/lab/spans?voucher="+strings.TrimPrefix(path, "/api/v1/vouchers/"), "").is(200, "").into(&spans)
	require.Len(t, spans, 1)
	require.Equal(t, "mutex", spans[0].Lock)
	require.NotZero(t, spans[0].ReleasedNS)
	s.do("GET", "/api/v1/lab/spans", "").is(400, "bad_request")
}

func TestLab_TellsItsEngines(t *testing.T) {
	s := newShop(t, func(o *Options) {
		o.Engines = &Engines{Redis: EngineInfo{Kind: "miniredis"}, DB: EngineInfo{"mariadb", "11.4.2"}}
	})
	answer := s.do("GET", "/api/v1/lab/engines", "").is(200, "")
	require.JSONEq(t, `{"redis":{"kind":"miniredis","version":""},"db":{"kind":"mariadb","version":"11.4.2"}}`, answer.Body)
}

func TestLab_ResetAndOrders(t *testing.T) {
	s := newShop(t)
	path := s.voucher(5)
	s.do("POST", path+"/orders", "", "X-User-ID: 7").is(201, "")
	var orders []map[string]any
	s.do("GET", path+"/orders", "").is(200, "").into(&orders)
	require.Len(t, orders, 1)
	require.Equal(t, "7", orders[0]["user_id"])
	require.Equal(t, "created", orders[0]["status"])
	require.Len(t, orders[0], 3)

	for _, c := range []struct {
		query, body string
		stock       float64
	}{{"", "", 5}, {"?stock=3", "", 3}, {"", `{"stock":0}`, 0}, {"", "", 0}, {"", "{}", 0}} {
		var v map[string]any
		s.do("POST", path+"/reset"+c.query, c.body).is(200, "").into(&v)
		require.Equal(t, c.stock, v["stock"])
		require.Equal(t, c.stock, v["stock_left"])
		require.Equal(t, "[]", s.do("GET", path+"/orders", "").is(200, "").Body)
	}
	s.do("POST", path+"/reset?stock=x", "").is(400, "bad_request")
	s.do("POST", path+"/reset?stock=-1", "").is(422, "invalid")
	s.do("POST", path+"/reset", `{"stock":null}`).is(422, "invalid")
	s.do("POST", path+"/reset", `{"stok":1}`).is(400, "bad_request")
	s.do("POST", "/api/v1/vouchers/1/reset", "").is(404, "not_found")
	s.do("GET", "/api/v1/vouchers/1/orders", "").is(404, "not_found")
}

// Outside of lab mode nothing of the lab is there, and no header is believed.
func TestDeployed(t *testing.T) {
	signer := testSigner(t)
	s := newShop(t, func(o *Options) { o.Lab, o.Signer = false, signer })
	path := s.voucher(5)
	buyer, admin := "Authorization: Bearer "+sign(t, signer, 5, ScopeBuy), "Authorization: Bearer "+sign(t, signer, 0, ScopeAdmin)
	refused := s.do("POST", path+"/orders", "", "X-User-ID: 5").is(401, "unauthorized")
	require.Equal(t, "Bearer", refused.Header.Get("WWW-Authenticate"))
	s.do("POST", path+"/orders", "", admin).is(403, "forbidden")
	s.do("POST", path+"/orders?stage=none", "", buyer).is(400, "bad_request")
	s.do("POST", path+"/orders", "", buyer).is(201, "")
	s.do("POST", "/api/v1/vouchers", fmt.Sprintf(voucherBody, "1")).is(401, "unauthorized")
	s.do("POST", "/api/v1/vouchers", fmt.Sprintf(voucherBody, "1"), buyer).is(403, "forbidden")
	s.do("POST", "/api/v1/vouchers", fmt.Sprintf(voucherBody, "1"), admin).is(201, "")
	s.do("GET", path+"/audit", "", buyer).is(403, "forbidden")
	s.do("GET", path+"/audit", "", admin).is(200, "")
	s.do("GET", path, "").is(200, "")
	s.do("POST", path+"/reset", "", admin).is(404, "not_found")
	s.do("GET", path+"/orders", "", admin).is(405, "method_not_allowed")
	s.do("GET", "/api/v1/lab/spans?voucher=1", "", admin).is(404, "not_found")
	s.do("POST", "/sell1", "").is(404, "not_found")

	_, err := New(Options{})
	require.ErrorContains(t, err, "token secret", "a server that believes everybody must be asked for")
}

func TestStages(t *testing.T) {
	var stages []map[string]any
	newShop(t).do("GET", "/api/v1/stages", "").is(200, "").into(&stages)
	require.Len(t, stages, len(service.Names()))
	require.Equal(t, "none", stages[0]["name"])
	for _, key := range []string{"tracks", "parts", "text", "claims"} {
		require.NotEmpty(t, stages[0][key], key)
	}
	require.Equal(t, []any{"oversold"}, stages[0]["claims"].(map[string]any)["on"].(map[string]any)["single"].(map[string]any)["must"])
}
