// Tests of the counters: UIDs of links in every kind of change, and whether they are exact.

package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// uidRow is the triple of a UID.
func uidRow(i int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprint(systemgraph.IRI, ":page:", i)), Predicate: triple.NewIRI("x:uid"), Object: triple.NewString(fmt.Sprint(i)), Graph: systemgraph.Graph}
}

// likeUID is a user's triple whose keys lie among those of UIDs.
func likeUID(i int) triple.Triple {
	t := uidRow(i)
	t.Graph = triple.NewIRI("x:g")
	return t
}

func reopened(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	require.NoError(t, err)
	return s
}

func loadAll(t *testing.T, s *Store, o rdfload.Options, all ...triple.Triple) {
	t.Helper()
	var text strings.Builder
	for _, one := range all {
		text.Write(append(triple.AppendNQuad(nil, one), '\n'))
	}
	o.Memory = rdfload.MinMemory
	if _, err := rdfload.Load(t.Context(), s.Sink(), []input.Source{input.Document("x.nq", strings.NewReader(text.String()), 0, syntax.NQuads)}, o); err != nil {
		t.Fatal(err)
	}
}

// TestCountsWithoutLinks: the status has the triples of users, whatever is done with UIDs, and after each start.
func TestCountsWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	o := Options{MinFreeBytes: -1}
	s := reopened(t, dir, o)
	defer func() { s.Close() }()
	must := func(_ any, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	status := func(after string, triples, annotations int64, links int64) {
		t.Helper()
		st := s.Status()
		if st.Triples != triples || st.Annotations != annotations || !st.Exact {
			t.Errorf("%s: %d triples, %d annotations, exact %t, want %d and %d", after, st.Triples, st.Annotations, st.Exact, triples, annotations)
		}
		if c, err := s.db.Counters(); err != nil || c.Links != links {
			t.Errorf("%s: %d links, %v, want %d", after, c.Links, err, links)
		}
	}
	reopen := func() {
		t.Helper()
		must(nil, s.Close())
		s = reopened(t, dir, o)
	}
	ctx := t.Context()
	must(Add(ctx, s, []triple.Triple{uidRow(1), uidRow(2), uidRow(3), likeUID(1), likeUID(2), systemgraph.PrefixRow}))
	must(nil, Annotate(ctx, s, systemgraph.PrefixRow, systemgraph.Prefixes, []byte("p")))
	must(nil, Annotate(ctx, s, systemgraph.PrefixRow, systemgraph.Links, []byte("1")))
	must(nil, Annotate(ctx, s, likeUID(1), "app", []byte("1")))
	status("an add", 2, 1, 3)
	must(Delete(ctx, s, []triple.Triple{uidRow(2), likeUID(2)}))
	status("a delete", 1, 1, 2)
	loadAll(t, s, rdfload.Options{}, uidRow(1), uidRow(4), uidRow(5), likeUID(1), likeUID(4))
	status("a load", 2, 1, 4)
	reopen()
	status("a start", 2, 1, 4)
	must(Apply(ctx, s, Steps{ClearGraphs: []triple.Term{systemgraph.Graph}}))
	status("a clear of the graph", 2, 1, 0)
	must(Add(ctx, s, []triple.Triple{uidRow(6)}))
	must(Apply(ctx, s, Steps{ClearAll: true}))
	status("a clear of all", 0, 0, 0)
}

// TestInexactCounts: writes beside a bulk load make the counters estimates, until all is cleared.
func TestInexactCounts(t *testing.T) {
	s := reopened(t, t.TempDir(), Options{MinFreeBytes: -1})
	defer s.Close()
	loadAll(t, s, rdfload.Options{}, likeUID(1))
	if st := s.Status(); !st.Exact || st.Triples != 1 {
		t.Errorf("after a load: %d triples, exact %t", st.Triples, st.Exact)
	}
	beside := func(ctx context.Context) error {
		_, err := Add(ctx, s, []triple.Triple{likeUID(2)})
		return err
	}
	loadAll(t, s, rdfload.Options{BeforePublish: beside}, likeUID(2), likeUID(3))
	if st := s.Status(); st.Exact {
		t.Errorf("%d triples are said to be exact", st.Triples)
	}
	if _, err := Apply(t.Context(), s, Steps{ClearAll: true}); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); !st.Exact || st.Triples != 0 {
		t.Errorf("after a clear: %d triples, exact %t", st.Triples, st.Exact)
	}
}

// openFiles counts the files of loads that are open for reading.
type openFiles struct {
	vfs.FS
	open, most int
}

type openFile struct {
	vfs.File
	of *openFiles
}

func (o *openFiles) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := o.FS.Open(name, opts...)
	if err != nil || !strings.Contains(name, "loads") {
		return f, err
	}
	o.open++
	o.most = max(o.most, o.open)
	return openFile{f, o}, nil
}

func (f openFile) Close() error {
	f.of.open--
	return f.File.Close()
}

// TestLinksOfManyTables: counting the UIDs of a load has one of its tables open at a time, because a process may not open
// as many files as a large load has tables.
func TestLinksOfManyTables(t *testing.T) {
	files := &openFiles{FS: vfs.NewMem()}
	s := openMem(t, Options{FS: files})
	add(t, s, uidRow(3))
	start, err := s.Sink().Begin(ctx, "many")
	require.NoError(t, err)
	defer start.Existing.Close()
	var tables []string
	for i := range 10 {
		tables = append(tables, writeTables(t, s, fmt.Sprint("many-", i), []triple.Triple{uidRow(i), likeUID(i)}, start.Stamp)...)
	}
	files.most = 0
	if n, err := s.committer.newLinks(tables); n != 9 || err != nil || files.most != 1 || files.open != 0 {
		t.Errorf("%d new, %v; %d of %d files were open at once, %d still are", n, err, files.most, len(tables), files.open)
	}
}
