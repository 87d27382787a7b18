// The header that says why the answer of a query is empty.

package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/response"
)

// TestWarning: empty answers of all forms have the header, on a lone node and on one of a cluster; others have none.
func TestWarning(t *testing.T) {
	store := newStore(t)
	fill(t, store, 3, 10)
	const filter, why = `{ ?s ?p ?o FILTER(?o * 2 > 1) }`, "filter ?o * 2 > 1: an error for all 3 rows: an operand of the wrong type"
	long := strings.Repeat("\u00e9\n", 1000)
	for name, s := range map[string]*testServer{
		"alone":   serve(t, store, Options{}, ServerOptions{}),
		"cluster": serveSpread(t, &spread{Store: store, after: -1}, Options{}),
	} {
		for query, want := range map[string]string{
			"SELECT * " + filter:                                   why,
			"ASK " + filter:                                        why,
			"CONSTRUCT { ?s ?p ?o } " + filter:                     why,
			"DESCRIBE ?s " + filter:                                why,
			"SELECT * { ?s ?p ?o OPTIONAL " + filter + " }":        "", // not empty
			"SELECT * { ?s ?p ?o FILTER(?o = 'other') }":           "",
			"ASK { ?s ?p ?o }":                                     "",
			"ASK { ?s ?p ?o FILTER(?o * 2 > '''" + long + "''') }": `filter ?o * 2 > "\u00E9\n\u00E9\n`,
		} {
			got := s.do("POST", "/sparql", query, "Content-Type", "application/sparql-query")
			header := got.header.Get(response.WarningHeader)
			if got.status != http.StatusOK || !strings.HasPrefix(header, want) || (header == "") != (want == "") || len(header) > 512 {
				t.Errorf("%s: %.60s: %d, %q, want %q", name, query, got.status, header, want)
			}
		}
		// The plan itself says it, so the header is not needed.
		got := s.get("/sparql?explain=run&query=" + url.QueryEscape("SELECT * "+filter))
		if want := `"warning":"an error for all 3 rows: an operand of the wrong type"`; !strings.Contains(got.body, want) || got.header.Get(response.WarningHeader) != "" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
}
