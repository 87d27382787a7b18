// Parameters of /sparql.

package sparql

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzParams compares how the endpoint reads forms with how package url does, which
// refuses semicolons.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{"", "query=ASK+%7B%7D", "query=a;b", "query=%zz", "%71uery=1&query=2", "update=x&using-graph-uri=http://e/", "&&=&query", "default-graph-uri=g",
		"format=csv&timeout=1&explain=run&query=", "query=a=b&x", "graph=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		op := &operation{}
		err := op.addParams(raw, whereBody)
		values, reference := url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B"))
		if reference != nil {
			if err == nil {
				t.Errorf("%q: taken, although %v", raw, reference)
			}
			return
		}
		if err != nil {
			return // it has rules of its own
		}
		for _, name := range onceParams {
			if got, ok := op.given[name]; ok != values.Has(name) || got != values.Get(name) {
				t.Errorf("%q: %s is %q, want %q", raw, name, got, values.Get(name))
			}
		}
		if !slices.Equal(op.defaultGraphs, values["default-graph-uri"]) || !slices.Equal(op.usingNamedGraphs, values["using-named-graph-uri"]) {
			t.Errorf("%q: graphs %q", raw, op.defaultGraphs)
		}
		if err := op.check(); err != nil && op.params.Timeout < 0 {
			t.Errorf("%q: %v", raw, op.params)
		}
	})
}
