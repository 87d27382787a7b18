// Tests of documents that lack something.

package openapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/request"
)

// TestUndescribed: a route or a parameter without a description is an error of the document, not of the table, because
// the other endpoints must work.
func TestUndescribed(t *testing.T) {
	answer := func(http.ResponseWriter, *request.Request) error { return nil }
	for want, table := range map[string]endpoint.Table{
		"GET /nosuch has no description in operations.go":                {"/nosuch": endpoint.Get(answer)},
		"GET /count takes nosuch, which parameters.go does not describe": {"/count": endpoint.Get(answer, "nosuch")},
		"GET /count: operations.go and the table disagree about a body":  {"/count": {Methods: map[string]*endpoint.Method{"GET": {Body: true, Handle: answer}}}},
		"": {"/count": endpoint.Get(answer)},
	} {
		Add(table, Options{Locked: func(string, string) (bool, bool) { return false, false }})
		r := &request.Request{Request: httptest.NewRequest("GET", Path, nil)}
		got := ""
		if err := table[Path].Methods["GET"].Handle(httptest.NewRecorder(), r); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
