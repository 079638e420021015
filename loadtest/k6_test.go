package loadtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/require"
)

// k6Lib is k6/lib.js, run by the JavaScript engine that k6 is built on. It needs nothing of k6 itself.
type k6Lib struct {
	t       *testing.T
	rt      *sobek.Runtime
	exports *sobek.Object
}

func loadK6Lib(t *testing.T) k6Lib {
	t.Helper()
	src, err := os.ReadFile("k6/lib.js")
	require.NoError(t, err)
	m, err := sobek.ParseModule("lib.js", string(src), nil)
	require.NoError(t, err)
	require.NoError(t, m.Link())
	rt := sobek.New()
	promise := m.Evaluate(rt)
	require.Equal(t, sobek.PromiseStateFulfilled, promise.State())
	return k6Lib{t, rt, rt.NamespaceObjectFor(m)}
}

// call calls an exported function with JSON values, and decodes its result into one.
func (l k6Lib) call(into any, name string, args ...any) error {
	l.t.Helper()
	f, ok := sobek.AssertFunction(l.exports.Get(name))
	require.True(l.t, ok, "lib.js exports no function %s", name)
	var values []sobek.Value
	for _, a := range args {
		b, err := json.Marshal(a)
		require.NoError(l.t, err)
		v, err := l.rt.RunString("(" + string(b) + ")")
		require.NoError(l.t, err)
		values = append(values, v)
	}
	result, err := f(sobek.Undefined(), values...)
	if err != nil {
		return err
	}
	b, err := json.Marshal(result)
	require.NoError(l.t, err)
	return json.Unmarshal(b, into)
}

type object = map[string]any

func k6Users(n int) (users []object) {
	for i := range n {
		users = append(users, object{"X-User-ID": fmt.Sprint(i + 1)})
	}
	return users
}

func k6Kit(stock int) object {
	return object{"voucher": "77", "stage": "", "initial_stock": stock, "clicks": 2, "targets": []string{"http://a", "http://b"}}
}

func TestK6PlanUsesEveryUserOnce(t *testing.T) {
	l := loadK6Lib(t)
	for _, c := range []struct {
		env      object
		arrivals float64
		clicks   float64
		executor string
	}{
		{object{}, 200, 1, "constant-arrival-rate"},
		{object{"SCENARIO": "burst", "RATE": "50"}, 200, 1, "constant-arrival-rate"},
		{object{"SCENARIO": "burst", "RATE": "60", "DURATION": "2"}, 120, 1, "constant-arrival-rate"},
		{object{"SCENARIO": "ramp", "RATE": "70"}, 200, 1, "ramping-arrival-rate"},
		{object{"SCENARIO": "duplicates", "RATE": "150"}, 200, 2, "constant-arrival-rate"},
	} {
		var plan, options object
		require.NoError(t, l.call(&plan, "plan", c.env, k6Kit(100), k6Users(200)), c.env)
		require.Equal(t, c.arrivals, plan["arrivals"], c.env)
		require.Equal(t, c.clicks, plan["clicks"], c.env)
		require.NoError(t, l.call(&options, "options", plan, 10))
		scenario := options["scenarios"].(object)[plan["shape"].(string)].(object)
		require.Equal(t, c.executor, scenario["executor"], "an open model: arrivals do not wait for answers")
		require.Equal(t, []any{"value==0"}, options["thresholds"].(object)["oversold"])
	}
}

// S-67 and S-68, and a demand that can't show an oversell.
func TestK6Preflight(t *testing.T) {
	l := loadK6Lib(t)
	same := []object{{"Authorization": "Bearer x"}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer x"}}
	for _, c := range []struct {
		env   object
		stock int
		users []object
		want  string
	}{
		{object{"RATE": "300", "DURATION": "1"}, 10, k6Users(200), "300 arrivals but 200 users"},
		{object{}, 200, k6Users(200), "200 distinct users for 200 units"},
		{object{"RATE": "50", "DURATION": "1"}, 60, k6Users(200), "50 distinct users for 60 units"},
		{object{}, 1, same, "the same user"},
		{object{"RATE": "-1"}, 1, k6Users(2), "RATE is -1"},
		{object{"SCENARIO": "soak"}, 1, k6Users(2), "burst, ramp and duplicates"},
	} {
		require.ErrorContains(t, l.call(&object{}, "plan", c.env, k6Kit(c.stock), c.users), c.want)
	}
	require.NoError(t, l.call(new(any), "preflight", object{"arrivals": 3}, k6Kit(1), k6Users(3)))
	require.ErrorContains(t, l.call(&object{}, "unused", object{"orders": 3, "in_flight": 0}), "already has 3 orders")
}

// Whatever compare counts as an answer of the business, k6 must count so too.
func TestK6ClassifiesAsCompare(t *testing.T) {
	l := loadK6Lib(t)
	var expected []int
	b, err := json.Marshal(l.exports.Get("expected"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &expected))
	for code, want := range byCode {
		var got string
		require.NoError(t, l.call(&got, "classify", 409, fmt.Sprintf(`{"error":{"code":%q}}`, code)))
		require.Equal(t, string(want), got, code)
	}
	for _, status := range []int{201, 202} {
		var got string
		require.NoError(t, l.call(&got, "classify", status, ""))
		require.Equal(t, string(accepted), got)
		require.Contains(t, expected, status)
	}
	require.Contains(t, expected, 409)
	require.Contains(t, expected, 503)
	for status, body := range map[int]string{500: `{"error":{"code":"internal"}}`, 0: "", 404: `{"error":{"code":"not_found"}}`, 502: "<html>"} {
		var got string
		require.NoError(t, l.call(&got, "classify", status, body))
		require.Equal(t, "error", got)
		require.NotContains(t, expected, status)
	}
}

func k6Metrics(orders, oversold float64) object {
	count := func(n float64) object { return object{"values": object{"count": n}} }
	gauge := func(n float64) object { return object{"values": object{"value": n}} }
	trend := object{"values": object{"min": 1.0, "med": 2.0, "p(95)": 3.0, "p(99)": 4.0, "max": 5.0}}
	return object{
		"arrived": count(200), "sent": count(400), "accepted": count(orders), "rejected_sold_out": count(400 - orders),
		"dropped_iterations": count(3), "accepted_ms": trend, "rejected_ms": trend,
		"answered_at": object{"values": object{"min": 1000.0, "max": 3000.0}},
		"orders":      gauge(orders), "stock_left": gauge(0), "oversold": gauge(oversold), "duplicates": gauge(0),
		"drift": gauge(0), "in_flight": gauge(0),
	}
}

func TestK6RowIsARowOfCompare(t *testing.T) {
	l := loadK6Lib(t)
	var plan object
	require.NoError(t, l.call(&plan, "plan", object{"SCENARIO": "duplicates"}, k6Kit(100), k6Users(200)))

	var raw object
	require.NoError(t, l.call(&raw, "row", plan, k6Kit(100), k6Metrics(107, 7)))
	requireSameKeys(t, reflect.TypeFor[Row](), raw)
	var row Row
	require.NoError(t, l.call(&row, "row", plan, k6Kit(100), k6Metrics(107, 7)))
	require.Equal(t, "OVERSOLD 7", row.Verdict)
	require.False(t, row.AsClaimed)
	require.Equal(t, []string{Oversold}, row.Outcome)
	require.Equal(t, 400, row.Requests)
	require.Equal(t, 200.0, row.RPS)
	require.Equal(t, Percentiles{P50: 2, P95: 3, P99: 4, Max: 5}, row.Latency.Accepted)
	require.Contains(t, row.Note, "3 arrivals dropped", "S-69")
	require.Equal(t, 6, row.Dropped, "requests: each of the three would have clicked twice")
	var text string
	require.NoError(t, l.call(&text, "text", row))
	require.Contains(t, text, "rejected  293   sold_out 293")

	for want, change := range map[string]func(object){
		"ok":                          func(object) {},
		"UNDERSOLD 3":                 func(m object) { m["orders"].(object)["values"] = object{"value": 97.0} },
		"INVALID: there is no audit":  func(m object) { delete(m, "orders") },
		"INVALID: nothing was sold":   func(m object) { m["orders"].(object)["values"] = object{"value": 0.0} },
		"INVALID: 9 of 400 requests ": func(m object) { m["errors"] = object{"values": object{"count": 9.0}} },
		"INVALID: 100 of 200 users ":  func(m object) { m["arrived"] = object{"values": object{"count": 100.0}}; m["dropped_iterations"] = nil },
	} {
		metrics := k6Metrics(100, 0)
		change(metrics)
		require.NoError(t, l.call(&row, "row", plan, k6Kit(100), metrics))
		require.True(t, strings.HasPrefix(row.Verdict, want), "%s, not %s", want, row.Verdict)
	}
}

// requireSameKeys holds a JSON object against the fields of a Go type.
func requireSameKeys(t *testing.T, want reflect.Type, got object) {
	t.Helper()
	keys := map[string]reflect.Type{}
	for i := range want.NumField() {
		name, options, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		if name != "-" && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			keys[name] = want.Field(i).Type
		}
	}
	for name, field := range keys {
		require.Contains(t, got, name, "in %v", want)
		if inner, ok := got[name].(object); ok && field.Kind() == reflect.Struct {
			requireSameKeys(t, field, inner)
		}
	}
	for name := range got {
		require.Contains(t, keys, name, "in %v", want)
	}
}

// The script itself can only run in k6. Without k6 it is parsed, and what it imports from lib.js must be there.
func TestK6ScriptParses(t *testing.T) {
	src, err := os.ReadFile("k6/orders.js")
	require.NoError(t, err)
	_, err = sobek.ParseModule("orders.js", string(src), nil)
	require.NoError(t, err)
	l := loadK6Lib(t)
	for _, used := range regexp.MustCompile(`[^/]lib\.(\w+)`).FindAllStringSubmatch(string(src), -1) {
		require.NotNil(t, l.exports.Get(used[1]), "lib.js exports no %s", used[1])
	}
}

func TestK6SendsKit(t *testing.T) {
	k6, err := exec.LookPath("k6")
	if err != nil {
		t.Skip("k6 is not on PATH; the script was parsed instead")
	}
	script, err := filepath.Abs("k6/orders.js")
	require.NoError(t, err)
	for _, c := range []struct {
		shape    string
		oversell int
		exit     int
		verdict  string
	}{{"burst", 0, 0, "ok"}, {"ramp", 0, 0, "ok"}, {"duplicates", 0, 0, "ok"}, {"burst", 7, 99, "OVERSOLD 7"}} {
		crew := startShop(t, &shop{oversell: c.oversell}, 2)
		k := kitFor(crew.URLs()...)
		require.NoError(t, k.CreateVoucher(t.Context(), 10))
		dir := t.TempDir()
		require.NoError(t, WriteKit(dir, k, 1, labUser))
		cmd := exec.CommandContext(t.Context(), k6, "run", "-q", "-e", "KIT="+dir, "-e", "SCENARIO="+c.shape, script)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, c.exit, cmd.ProcessState.ExitCode(), "%s", out)
		require.Contains(t, string(out), "accepted  ")
		b, err := os.ReadFile(filepath.Join(dir, "k6-"+c.shape+".json"))
		require.NoError(t, err)
		var report Report
		require.NoError(t, json.Unmarshal(b, &report))
		require.Equal(t, c.verdict, report.Rows[0].Verdict, "%s", out)
		require.Equal(t, 10+c.oversell, report.Rows[0].Accepted)
		require.Equal(t, 0, report.Rows[0].Errors)
	}
}
