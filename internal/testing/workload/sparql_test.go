// The store behind SPARQL, on a node over loopback.

package workload

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/history"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

// dialNode returns a store on a new node.
func dialNode(t *testing.T) *SPARQL {
	t.Helper()
	s, err := Dial("a", serving.Serve(t, storetest.Open(t), server.Options{}), &http.Client{Transport: &http.Transport{}})
	require.NoError(t, err)
	storetest.CloseLater(t, s)
	return s
}

// One transaction after the other has the results of the reference store, whatever its operations are.
func TestSPARQLAgainstMemory(t *testing.T) {
	r := seed.Rand(t)
	node, memory := dialNode(t), NewMemory(1, true, Bugs{})
	for i := range seed.Rounds(150, 2000) {
		var ops []history.Op
		for range 1 + r.IntN(5) {
			ops = append(ops, history.Op{Kind: history.Read + history.Kind(r.IntN(4)), Key: r.IntN(3)})
			if o := &ops[len(ops)-1]; writes(*o) {
				o.Value = 10*i + len(ops)
			}
		}
		want, err := memory.Txn(t.Context(), ops)
		require.NoError(t, err)
		got, err := node.Txn(t.Context(), ops)
		require.NoError(t, err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("transaction %d of %v:\n%v, not\n%v", i, ops, got, want)
		}
	}
}

// The states of no serial execution are found, by queries and by updates.
func TestTorn(t *testing.T) {
	for _, c := range []struct{ triples, torn string }{
		{`<http://example.org/list/1> <http://example.org/length> 1, 2 ; <http://example.org/element> "0:7", "1:8"`, "it has the numbers"},
		{`<http://example.org/list/1> <http://example.org/length> 2 ; <http://example.org/element> "0:7"`, "it has length 2 and the elements"},
		{`<http://example.org/list/1> <http://example.org/length> 2 ; <http://example.org/element> "0:7", "0:8"`, "it has length 2 and the elements"},
		{`<http://example.org/list/1> <http://example.org/length> 1 ; <http://example.org/element> "1:7"`, "it has length 1 and the elements"},
		{`<http://example.org/list/1> <http://example.org/element> "0:7"`, "it has length 0 and the elements"},
	} {
		node := dialNode(t)
		_, err := node.client.Update(t.Context(), "INSERT DATA { "+c.triples+" }", client.QueryOptions{})
		require.NoError(t, err)
		read := history.Op{Kind: history.Read, Key: 1}
		got, err := node.Txn(t.Context(), []history.Op{read})
		require.NoError(t, err)
		if !strings.HasPrefix(got[0].Torn, c.torn) {
			t.Errorf("%s: a query says %q, not %q", c.triples, got[0].Torn, c.torn)
		}
		got, err = node.Txn(t.Context(), []history.Op{read, {Kind: history.Append, Key: 2, Value: 1}})
		require.NoError(t, err)
		if got[0].Torn == "" {
			t.Errorf("%s: an update read %v", c.triples, got[0])
		}
	}
}

// Only an error that promises that nothing was done is an abort.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{&client.Error{Kind: "busy"}, ErrAborted},
		{&client.Error{Kind: "conflict"}, ErrAborted},
		{&client.Error{Kind: "conflict", Begun: true}, errUnknown},
		{&client.Error{Kind: "unknown-outcome"}, errUnknown},
		{&client.Error{Kind: "unavailable"}, errUnknown},
		{errors.New("the connection broke"), errUnknown},
	} {
		if got := outcomeOf(fmt.Errorf("update: %w", c.err)); got != c.want {
			t.Errorf("%#v is %v, not %v", c.err, got, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	got, err := parseRecords([]string{"list 3 2 0:17 1:23;counter 3 95;list 4 0 "})
	require.NoError(t, err)
	want := states{byKey: map[cellKey]state{
		{true, 3}:  {[]string{"2"}, []string{"0:17", "1:23"}},
		{false, 3}: {[]string{"95"}, []string{}},
		{true, 4}:  {[]string{"0"}, []string{}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	for _, bad := range []string{"", "list 3", "list x 1"} {
		if _, err := parseRecords([]string{bad}); err == nil {
			t.Errorf("%q is a record", bad)
		}
	}
	if got, err := parseRecords(nil); err != nil || got.torn == "" {
		t.Errorf("no record: %v, %v", got, err)
	}
}
