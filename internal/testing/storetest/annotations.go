// The part about annotations.

package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// listAnnotations returns what a reader shows of a triple's annotations, by the three ways to read them.
func (c *checker) listAnnotations(t triple.Triple) (list []string) {
	c.t.Helper()
	r := c.reader()
	defer r.Close()
	// 1. All annotations of the triple, and each one by its ID.
	var annotations []store.Annotation
	for annotation, err := range r.Annotations(c.ctx, t) {
		c.must("annotations", err)
		annotations = append(annotations, store.Annotation{ApplicationID: annotation.ApplicationID, Data: bytes.Clone(annotation.Data), Version: annotation.Version})
	}
	for _, annotation := range annotations {
		data, err := r.Annotation(c.ctx, t, annotation.ApplicationID)
		if err != nil || data == nil || !bytes.Equal(data.Data, annotation.Data) || data.Version != annotation.Version || data.Version == (triple.Stamp{}) {
			c.errorf("annotation %q of %s: %d bytes, %v, not %d", annotation.ApplicationID, t, len(data.Bytes()), err, len(annotation.Data))
		}
		list = append(list, annotation.ApplicationID+"="+string(annotation.Data))
	}
	if data, err := r.Annotation(c.ctx, t, "nothing"); data != nil || err != nil {
		c.errorf("an annotation that is missing: %q, %v", data, err)
	}
	// 2. With the rows of the pattern, which may be in several graphs.
	got, err := rows(r.Match(c.ctx, triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object}, store.ReadOptions{Annotations: true}))
	c.must("match", err)
	for _, row := range got {
		if row.t == t && !slices.EqualFunc(row.annotations, annotations, func(a, b store.Annotation) bool {
			return a.ApplicationID == b.ApplicationID && bytes.Equal(a.Data, b.Data)
		}) {
			c.errorf("the row of %s has %d annotations, not %d", t, len(row.annotations), len(annotations))
		}
	}
	return list
}

// annotations: they belong to one triple in one graph, are sorted by ID, and go with the triple.
func (c *checker) annotations() {
	plain, named := sample(1)[0], sample(4)[3]
	long := triple.Triple{Subject: iri("%s", strings.Repeat("long", 1000)), Predicate: iri("p"), Object: triple.NewString(strings.Repeat("text", 1000))}
	c.add(plain, named, long)
	annotate := func(t triple.Triple, id string, data []byte) {
		c.t.Helper()
		c.must("annotate "+id, store.Annotate(c.ctx, c.s, t, id, data))
	}
	has := func(t triple.Triple, want ...string) {
		c.t.Helper()
		if got := c.listAnnotations(t); !slices.Equal(got, want) {
			c.errorf("%d annotations, want %d: %.300q", len(got), len(want), got)
		}
	}
	// IDs may have any bytes. Annotations are sorted by them, so NUL comes first.
	id := strings.Repeat("\x00z", 127) + "\xff"
	for _, tr := range []triple.Triple{plain, named, long} {
		// 1. Set, replace and remove.
		other := tr
		other.Graph = iri("other")
		c.fails("annotate a triple that is missing", store.Annotate(c.ctx, c.s, other, "a", nil), store.ErrNotFound)
		has(tr)
		annotate(tr, "b", []byte("1"))
		annotate(tr, "a", []byte{})
		annotate(tr, id, []byte("long id"))
		annotate(tr, "b", []byte("2"))
		has(tr, id+"=long id", "a=", "b=2")
		has(other)
		for range 2 { // the second time nothing is there
			annotate(tr, "a", nil)
			has(tr, id+"=long id", "b=2")
		}
		// 2. An add changes nothing. A delete removes them for good.
		if r, err := store.Add(c.ctx, c.s, []triple.Triple{tr}); err != nil || r.Existing != 1 {
			c.errorf("add again: %+v, %v", r, err)
		}
		has(tr, id+"=long id", "b=2")
		if _, err := store.Delete(c.ctx, c.s, []triple.Triple{tr}); err != nil {
			c.must("delete", err)
		}
		has(tr)
		c.fails("annotate a deleted triple", store.Annotate(c.ctx, c.s, tr, "a", []byte("x")), store.ErrNotFound)
		c.add(tr)
		has(tr)
		annotate(tr, "b", []byte("3"))
		has(tr, "b=3")
	}
	// 3. More than one message has room for.
	want := []string{"b=3"}
	for i := range 4 {
		data := bytes.Repeat([]byte{'0' + byte(i)}, store.MaxAnnotationBytes*3/4)
		annotate(named, fmt.Sprint("large", i), data)
		want = append(want, fmt.Sprintf("large%d=%s", i, data))
	}
	has(named, want...)
	has(plain, "b=3")
	// One of each of the three triples, and four large ones.
	if report, err := c.s.Check(c.ctx); err != nil || len(report.Problems) > 0 || report.Annotations != 7 {
		c.errorf("%d annotations, %+v, %v", report.Annotations, report.Problems, err)
	}
}
