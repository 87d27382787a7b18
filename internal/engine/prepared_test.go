// Tests of the prepared queries that an engine keeps.

package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// TestPreparedIsKept: a text is prepared once for each base, and its answers are those of the
// present state.
func TestPreparedIsKept(t *testing.T) {
	e := newEngine(t, openStore(t), Options{})
	prepare := func(text string, p Params) *shared {
		t.Helper()
		q, err := e.Prepare(t.Context(), text, p)
		if err != nil {
			t.Fatal(err)
		}
		return q.prepared
	}
	const text = `SELECT ?o { <a> <b> ?o }`
	x := Params{Base: "http://x.example/"}
	if prepare(text, x) != prepare(strings.Clone(text), x) {
		t.Error("a text is prepared again")
	}
	if prepare(text, x) == prepare(text, Params{Base: "http://y.example/"}) {
		t.Error("a query of another base is used")
	}
	bound := Params{Base: x.Base, Bind: map[string]triple.Term{"o": triple.NewString("v")}}
	if bind := prepare(text, bound); bind == prepare(text, x) || bind == prepare(text, bound) {
		t.Error("a query with values is shared")
	}
	long := text + strings.Repeat(" ", smallText)
	if first := prepare(long, x); first == prepare(long, x) {
		t.Error("a long text is kept")
	}
	for n := range 3 {
		if got, err := tryRows(t, e, text, x); len(got) != n || err != nil {
			t.Errorf("%d rows, %v, want %d", len(got), err, n)
		}
		if _, err := e.Update(t.Context(), fmt.Sprintf(`INSERT DATA { <a> <b> %d }`, n), x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Prepare(t.Context(), `SELECT`, x); err == nil {
		t.Error("a wrong text is accepted")
	}
	if _, err := e.Prepare(t.Context(), `SELECT`, x); err == nil {
		t.Error("a wrong text is accepted the second time")
	}
}

// TestPreparedCacheIsBounded: the text not used for longest goes first.
func TestPreparedCacheIsBounded(t *testing.T) {
	key := func(n int) preparedKey { return preparedKey{text: fmt.Sprintf("%08d", n)} }
	c := newPreparedCache(10 * key(0).bytes())
	for n := range 100 {
		c.put(key(n), &shared{})
		c.put(key(n), &shared{})
		if c.get(key(0)) == nil {
			t.Fatalf("the text used last is gone after %d others", n)
		}
	}
	if len(c.of) != 10 || c.order.Len() != 10 || c.bytes != 10*key(0).bytes() {
		t.Errorf("%d texts, %d in order, %d bytes", len(c.of), c.order.Len(), c.bytes)
	}
	if c.get(key(91)) == nil || c.get(key(90)) != nil {
		t.Error("not the text unused for longest is gone")
	}
	c = newPreparedCache(1)
	if c.put(key(0), &shared{}); len(c.of) != 0 || c.bytes != 0 {
		t.Error("a text is kept without room for it")
	}
}
