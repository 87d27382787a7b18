// Tests of the prefixes of resumed loads.

package rdfload_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/rdfload"
)

// TestPrefixesOfResumedLoad: a load that is resumed reports the prefixes of documents that it does not read again, up
// to a limit.
func TestPrefixesOfResumedLoad(t *testing.T) {
	var many strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&many, "@prefix p%d: <http://p/%d/> .\n", i, i)
	}
	documents := []*document{
		{name: "a.ttl", data: []byte("@prefix a: <http://a/> .\na:s a:p a:o .\n")},
		{name: "b.ttl", data: []byte("@prefix long: <http://" + strings.Repeat("x", 2000) + "> .\n@prefix b: <http://b/> .\nb:s b:p b:o .\n" + many.String())},
	}
	var mu sync.Mutex
	found := map[string]string{}
	opts := rdfload.Options{Workers: 1, Prefix: func(name, iri string) {
		mu.Lock()
		defer mu.Unlock()
		found[name] = iri
	}}
	opts.SetLimits(1, 3, 0, 0, 0) // there are runs, because a load without one is not kept
	store := newStore(t)
	stopped := opts
	stopped.BeforePublish = func(context.Context) error { return errFault }
	if _, err := rdfload.Load(t.Context(), store.Sink(), sources(documents...), stopped); err == nil {
		t.Fatal("the load did not stop")
	}
	all := maps.Clone(found)
	if len(all) != 2003 {
		t.Fatalf("the first run reported %d prefixes", len(all))
	}
	clear(found)
	read := documents[0].read + documents[1].read
	opts.Resume = true
	s, err := rdfload.Load(t.Context(), store.Sink(), sources(documents...), opts)
	if err != nil || !s.Resumed || documents[0].read+documents[1].read != read {
		t.Fatalf("resumed: %v, %v; %d bytes were read again", s.Resumed, err, documents[0].read+documents[1].read-read)
	}
	if found["a"] != "http://a/" || found["b"] != "http://b/" || found["long"] != "" || len(found) != 1024 {
		t.Errorf("the second run reported %d prefixes: a is %q, b is %q", len(found), found["a"], found["b"])
	}
	for name, iri := range found {
		if all[name] != iri {
			t.Errorf("%s is %q, and was %q", name, iri, all[name])
		}
	}
}
