// Tests of AnnotateAll.

package store

import (
	"context"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// writerFunc gets the changes of a writer, which all succeed.
type writerFunc func(c Change)

func (f writerFunc) Write(_ context.Context, c Change) (Result, error) {
	f(c)
	return Result{}, nil
}

// If a document has several annotations of one application on one triple, only the last one
// is set.
func TestLastAnnotationCounts(t *testing.T) {
	// 1. A document that repeats annotations within a statement and in other statements.
	note := func(id, data string) Annotation { return Annotation{ApplicationID: id, Data: []byte(data)} }
	all := students(0, 3)
	var list []Annotated
	for range 20 {
		list = append(list, Annotated{all[0], []Annotation{note("a", "old"), note("a", "older")}}, Annotated{all[1], []Annotation{note("a", "one")}})
	}
	list = append(list, Annotated{all[0], []Annotation{note("a", "old"), note("b", "b"), note("a", "last")}}, Annotated{all[2], []Annotation{{ApplicationID: "c"}}})
	type name struct {
		of triple.Triple
		id string
	}
	// 2. Record what is set.
	var mu sync.Mutex
	set := map[name][]string{}
	err := AnnotateAll(t.Context(), writerFunc(func(c Change) {
		mu.Lock()
		defer mu.Unlock()
		id, data := c.Annotation.ApplicationID, c.Annotation.Data
		if c.Kind != KindAnnotate || data == nil {
			t.Errorf("%s of %s: %q", c.Kind, id, data)
		}
		set[name{c.Triples[0], id}] = append(set[name{c.Triples[0], id}], string(data))
	}), list)
	if err != nil {
		t.Fatal(err)
	}
	want := map[name]string{{all[0], "a"}: "last", {all[0], "b"}: "b", {all[1], "a"}: "one", {all[2], "c"}: ""}
	for n, data := range want {
		if got := set[n]; len(got) != 1 || got[0] != data {
			t.Errorf("%s is set to %q, not once to %q", n.id, got, data)
		}
	}
	if len(set) != len(want) {
		t.Errorf("%d annotations, not %d", len(set), len(want))
	}
}
