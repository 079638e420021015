package router

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

func openAPISpec(t *testing.T) *openapi3.T {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(OpenAPI)
	require.NoError(t, err)
	require.NoError(t, spec.Validate(t.Context()))
	return spec
}

const labOnly = "x-lab-only"

// operations lists the spec's "METHOD /path", with or without those of lab mode.
func operations(spec *openapi3.T, lab bool) (list []string) {
	for path, item := range spec.Paths.Map() {
		for method, o := range item.Operations() {
			if lab || o.Extensions[labOnly] != true {
				list = append(list, method+" "+path)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Every route is described and everything described is a route, in lab mode and outside of it.
func TestOpenAPINamesTheRoutes(t *testing.T) {
	signer, err := NewSigner(strings.Repeat("s", MinSecret))
	require.NoError(t, err)
	parameter := regexp.MustCompile(`:(\w+)`)
	for _, lab := range []bool{true, false} {
		h, err := New(Options{
			Lab: lab, Signer: signer, Metrics: NewMetrics(), Sell: &service.Sell{}, Spans: service.NewSpans("p1", 1),
			Life: &service.Life{}, Preheater: &service.Preheater{}, Runs: &fakeRuns{},
			Sources: func(service.Stage) ([]SourceFile, error) { return nil, nil }, Engines: &Engines{},
		})
		require.NoError(t, err)
		var routes []string
		for _, r := range h.(*gin.Engine).Routes() {
			routes = append(routes, r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}"))
		}
		slices.Sort(routes)
		require.Equal(t, routes, operations(openAPISpec(t), lab), "lab mode: %v (expected: the routes; actual: openapi.json)", lab)
	}
}

// The statuses and codes of failures are those of the one table of errors.
func TestOpenAPINamesTheErrors(t *testing.T) {
	spec := openAPISpec(t)
	table := map[string]bool{"500 internal": true}
	for _, row := range answers {
		table[fmt.Sprintf("%d %s", row.status, row.code)] = true
	}
	statusOf := map[string]int{} // of a response's name, as operations use it
	for _, item := range spec.Paths.Map() {
		for _, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				if name := strings.TrimPrefix(r.Ref, "#/components/responses/"); r.Ref != "" {
					var n int
					_, err := fmt.Sscan(status, &n)
					require.NoError(t, err)
					require.Contains(t, []int{0, n}, statusOf[name], "%s stands for one status", name)
					statusOf[name] = n
				}
			}
		}
	}
	statusOf["MethodNotAllowed"] = 405 // the answer of every path, and of none in particular
	described := map[string]bool{}
	for name, r := range spec.Components.Responses {
		schema := r.Value.Content.Get("application/json").Schema.Value
		code := schema.Properties["error"].Value.Properties["code"].Value
		require.NotEmpty(t, code.Enum, name)
		for _, c := range code.Enum {
			described[fmt.Sprintf("%d %s", statusOf[name], c)] = true
		}
	}
	require.Equal(t, table, described)
}
