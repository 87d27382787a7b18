// The conformance test of client.Store: a directory, a server and a cluster give the same answers.

package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// face is a store with its parts.
type face struct {
	client.Store
	annotations client.AnnotationStore
	prefixes    client.PrefixStore
}

// serveNode serves a new directory until the test ends, and returns its address.
func serveNode(t *testing.T, join ...string) (address string) {
	t.Helper()
	dir := t.TempDir() // first, because what is registered last ends first
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	options := node.ServeOptions{Options: node.Options{MinFreeBytes: -1}, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }}
	options.Cluster.Join = join
	go func() { ended <- node.Serve(ctx, dir, options) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case url := <-ready:
		return strings.TrimPrefix(url, "http://")
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return ""
}

func connect(t *testing.T, addresses ...string) face {
	t.Helper()
	for i := range addresses {
		addresses[i] = "http://" + addresses[i]
	}
	c, err := client.New(strings.Join(addresses, ","), client.Options{PageSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return face{c, c.Annotations, c.Prefixes}
}

func TestStoreOfDirectory(t *testing.T) {
	db, err := node.Open(t.TempDir(), node.Options{MinFreeBytes: -1, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	f := face{db, db.Annotations, db.Prefixes}
	conform(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls(f) {
		if err := call(t.Context()); !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, node.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

func TestStoreOfServer(t *testing.T) { conform(t, connect(t, serveNode(t))) }

func TestStoreOfCluster(t *testing.T) {
	seed.Slow(t)
	members := []string{serveNode(t)}
	members = append(members, serveNode(t, members[0]), serveNode(t, members[0]))
	f := connect(t, members...)
	for deadline := time.Now().Add(time.Minute); ; {
		s, err := f.Status(t.Context())
		if err == nil && len(s.Members) == 3 && s.Phase == "idle" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no cluster of three: %+v, %v", s, err)
		}
	}
	conform(t, f)
}

func iri(name string) triple.Term { return triple.NewIRI("http://example.org/" + name) }

func size(subject string, n int) triple.Triple {
	return triple.Triple{Subject: iri(subject), Predicate: iri("size"), Object: triple.NewTyped(fmt.Sprint(n), triple.XSDInteger)}
}

// all returns the elements of an iterator as one text, with its error.
func all[T any](seq iter.Seq2[T, error], text func(T) string) string {
	var b strings.Builder
	for x, err := range seq {
		if err != nil {
			return b.String() + err.Error()
		}
		b.WriteString(text(x) + " ")
	}
	return strings.TrimSpace(b.String())
}

// short returns the subject and the object of a triple, and its graph if it is named.
func short(t triple.Triple) string {
	name := func(t triple.Term) string { return strings.TrimPrefix(t.Value(), "http://example.org/") }
	if text := name(t.Subject) + "=" + name(t.Object); t.Graph.IsZero() {
		return text
	} else {
		return text + "@" + name(t.Graph)
	}
}

func triplesText(triples []triple.Triple, err error) string {
	return all(func(yield func(triple.Triple, error) bool) {
		for _, t := range triples {
			if !yield(t, nil) {
				return
			}
		}
		if err != nil {
			yield(triple.Triple{}, err)
		}
	}, short)
}

// nquads returns triples as N-Quads.
func nquads(triples ...triple.Triple) string {
	var text []byte
	for _, t := range triples {
		text = triple.AppendNQuad(text, t)
	}
	return string(text)
}

// conform runs the methods of a store that is empty, and compares their answers.
func conform(t *testing.T, f face) {
	ctx := t.Context()
	sizes := triple.Pattern{Predicate: iri("size")}
	byValue := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("size")}, GE: triple.NewTyped("2", triple.XSDInteger)}
	named := size("e", 5)
	named.Graph = iri("g")
	five := []triple.Triple{size("d", 4), size("a", 1), size("b", 2), size("c", 3), named}
	two, err := triple.AppendMedia([]byte{}, "", []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	var page client.Page
	var version string
	var none client.QueryOptions
	value := func(s client.Solution) string { return s.Term("v").Value() }
	for _, step := range []struct {
		name string
		do   func() (any, error)
		want string
	}{
		// 1. Changes.
		{"add", func() (any, error) { return f.Add(ctx, five) }, "{5 0}"},
		{"add again", func() (any, error) { return f.Add(ctx, five[:2]) }, "{0 2}"},
		{"delete", func() (any, error) { return f.Delete(ctx, []triple.Triple{size("d", 4), size("x", 1)}) }, "{1 1}"},
		{"delete matches", func() (any, error) { return f.DeleteMatch(ctx, triple.Pattern{Graph: iri("g")}) }, "{1 0}"},
		{"update", func() (any, error) {
			r, err := f.Update(ctx, `INSERT DATA { <http://example.org/d> <http://example.org/size> 4 } ; DELETE DATA { <http://example.org/a> <http://example.org/size> 1 }`, none)
			return []int64{r.Added, r.Deleted}, err
		}, "[1 1]"},
		{"add to a graph", func() (any, error) { return f.Add(ctx, []triple.Triple{named, size("a", 1)}) }, "{2 0}"},
		// 2. Reads.
		{"match", func() (any, error) { return all(f.Match(ctx, sizes), short), nil }, "a=1 b=2 c=3 d=4 e=5@g"},
		{"match the default graph", func() (any, error) {
			return all(f.Match(ctx, triple.Pattern{Subject: iri("e"), DefaultGraph: true}), short), nil
		}, ""},
		{"range", func() (any, error) { return all(f.Range(ctx, byValue, client.RangeOptions{}), short), nil }, "b=2 c=3 d=4 e=5@g"},
		{"range back", func() (any, error) {
			return all(f.Range(ctx, byValue, client.RangeOptions{Reverse: true, Offset: 1}), short), nil
		}, "d=4 c=3 b=2"},
		{"page", func() (_ any, err error) {
			page, err = f.MatchPage(ctx, sizes, client.PageOptions{Limit: 2, Offset: 1})
			return triplesText(page.Triples, err) + fmt.Sprint(" more ", page.Next != ""), err
		}, "b=2 c=3 more true"},
		{"next page", func() (any, error) {
			next, err := f.MatchPage(ctx, sizes, client.PageOptions{Limit: 2, Cursor: page.Next})
			return triplesText(next.Triples, err) + fmt.Sprint(" more ", next.Next != ""), err
		}, "d=4 e=5@g more false"},
		{"page back", func() (_ any, err error) {
			page, err = f.RangePage(ctx, byValue, client.PageOptions{Limit: 3, Reverse: true})
			return triplesText(page.Triples, err) + fmt.Sprint(" more ", page.Next != ""), err
		}, "e=5@g d=4 c=3 more true"},
		{"range behind a page", func() (any, error) {
			return all(f.Range(ctx, byValue, client.RangeOptions{Reverse: true, Cursor: page.Next}), short), nil
		}, "b=2"},
		{"page as N-Quads", func() (_ any, err error) {
			var text strings.Builder
			page, err = f.MatchPage(ctx, sizes, client.PageOptions{Limit: 2, Offset: 3, NQuads: &text})
			return text.String() + fmt.Sprint(len(page.Triples), " more ", page.Next != ""), err
		}, nquads(size("d", 4), named) + "0 more false"},
		{"page back as N-Quads", func() (_ any, err error) {
			var text strings.Builder
			page, err = f.RangePage(ctx, byValue, client.PageOptions{Limit: 2, Reverse: true, NQuads: &text})
			return text.String() + fmt.Sprint(len(page.Triples), " more ", page.Next != ""), err
		}, nquads(named, size("d", 4)) + "0 more true"},
		{"next page back as N-Quads", func() (any, error) {
			var text strings.Builder
			next, err := f.RangePage(ctx, byValue, client.PageOptions{Cursor: page.Next, Limit: 2, Reverse: true, NQuads: &text})
			return text.String() + fmt.Sprint(len(next.Triples), " more ", next.Next != ""), err
		}, nquads(size("c", 3), size("b", 2)) + "0 more false"},
		{"empty page as N-Quads", func() (any, error) {
			var text strings.Builder
			_, err := f.MatchPage(ctx, triple.Pattern{Subject: iri("none")}, client.PageOptions{Annotations: true, NQuads: &text})
			return text.String(), err
		}, ""},
		{"count", func() (any, error) { return f.Count(ctx, sizes) }, "5"},
		{"estimate", func() (any, error) {
			n, exact, err := f.Estimate(ctx, sizes)
			return n > 0 || !exact, err
		}, "true"},
		// 3. Queries.
		{"query", func() (any, error) {
			return all(f.Query(ctx, `SELECT ?v { ?s <http://example.org/size> ?v FILTER(?v > ?least) } ORDER BY DESC(?v)`, client.QueryOptions{
				Bind: map[string]triple.Term{"least": triple.NewTyped("2", triple.XSDInteger)}, Timeout: time.Minute}), value), nil
		}, "4 3"},
		{"query a graph", func() (any, error) {
			return all(f.Query(ctx, `SELECT ?v { ?s ?p ?v }`, client.QueryOptions{DefaultGraphs: []string{"http://example.org/g"}}), value), nil
		}, "5"},
		{"ask", func() (any, error) { return f.Ask(ctx, `ASK { ?s <http://example.org/size> 3 }`, none) }, "true"},
		{"construct", func() (any, error) {
			return all(f.Construct(ctx, `CONSTRUCT { ?s <http://example.org/is> ?v } { ?s <http://example.org/size> ?v FILTER(?v = 2) }`, none), short), nil
		}, "b=2"},
		{"explain", func() (any, error) {
			x, err := f.Explain(ctx, `SELECT * { ?s <http://example.org/size> ?v }`, false, none)
			return fmt.Sprintln(x.Form, x.Ran, x.Plan != nil, x.Rows), err
		}, "SELECT false true 0\n"},
		{"explain a run", func() (any, error) {
			x, err := f.Explain(ctx, `SELECT * { ?s <http://example.org/size> ?v }`, true, none)
			return fmt.Sprintln(x.Form, x.Ran, x.Plan != nil, x.Rows, x.Seconds > 0), err
		}, "SELECT true true 4 true\n"},
		// 4. Annotations.
		{"annotate", func() (_ any, err error) {
			version, err = f.annotations.Set(ctx, size("a", 1), client.Annotation{ApplicationID: "x", Media: "text/plain", Content: []byte("one")}, client.AnnotationCondition{Absent: true})
			return version != "", err
		}, "true"},
		{"annotate the version", func() (any, error) {
			next, err := f.annotations.Set(ctx, size("a", 1), client.Annotation{ApplicationID: "x", Content: []byte("two")}, client.AnnotationCondition{Version: version})
			return next != version, err
		}, "true"},
		{"annotations", func() (any, error) {
			list, err := f.annotations.List(ctx, size("a", 1))
			if len(list) != 1 {
				return list, err
			}
			return fmt.Sprintf("%s %s %s %t", list[0].ApplicationID, list[0].Media, list[0].Content, list[0].Version != version), err
		}, "x " + triple.DefaultMedia + " two true"},
		{"no annotations", func() (any, error) { return f.annotations.List(ctx, size("b", 2)) }, "[]"},
		{"page with annotations", func() (any, error) {
			page, err := f.MatchPage(ctx, triple.Pattern{Predicate: iri("size")}, client.PageOptions{Limit: 2, Annotations: true})
			if len(page.Annotations) != 2 || len(page.Annotations[0]) != 1 || len(page.Annotations[1]) != 0 {
				return page.Annotations, err
			}
			_, content := triple.CutMedia(page.Annotations[0][0].Data)
			return string(content), err
		}, "two"},
		{"page with annotations as N-Quads", func() (any, error) {
			var text strings.Builder
			page, err := f.MatchPage(ctx, triple.Pattern{Predicate: iri("size")}, client.PageOptions{Limit: 2, Annotations: true, NQuads: &text})
			return text.String() + fmt.Sprint(len(page.Annotations)), err
		}, string(triple.AppendAnnotated(nil, []byte(nquads(size("a", 1))), []triple.ApplicationData{{ApplicationID: "x", Data: two}})) + nquads(size("b", 2)) + "0"},
		{"changes of annotations", func() (any, error) {
			r, err := f.annotations.Change(ctx, func(yield func(triple.AnnotationChange, error) bool) {
				_ = yield(triple.AnnotationChange{Triple: size("b", 2), ApplicationID: "x", Content: []byte("b")}, nil) &&
					yield(triple.AnnotationChange{Triple: size("z", 9), ApplicationID: "x", Content: []byte("z")}, nil) &&
					yield(triple.AnnotationChange{Triple: size("b", 2), ApplicationID: "x", Content: []byte("c"), Absent: true}, nil) &&
					yield(triple.AnnotationChange{Triple: size("a", 1), ApplicationID: "x", Remove: true}, nil)
			})
			text := fmt.Sprint(r.Set, r.Removed, r.Failed)
			for _, e := range r.Errors {
				text += fmt.Sprint(" ", e.Change, errors.Is(e.Err, client.ErrNotFound), errors.Is(e.Err, client.ErrPrecondition))
			}
			return text, err
		}, "1 1 2 1 true false 2 false true"},
		{"remove an annotation", func() (any, error) {
			return nil, f.annotations.Remove(ctx, size("b", 2), "x", client.AnnotationCondition{})
		}, "<nil>"},
		{"remove none", func() (any, error) {
			return nil, f.annotations.Remove(ctx, size("b", 2), "x", client.AnnotationCondition{})
		}, "<nil>"},
		{"add with annotations", func() (any, error) {
			return f.annotations.AddTriples(ctx, []triple.Triple{size("a", 1), size("f", 6)}, [][]triple.ApplicationData{nil, {{ApplicationID: "y", Data: []byte{0}}}})
		}, "{1 1}"},
		{"its annotations", func() (any, error) {
			list, err := f.annotations.List(ctx, size("f", 6))
			return len(list), err
		}, "1"},
		// 5. Prefixes.
		{"set a prefix", func() (any, error) { return nil, f.prefixes.Set(ctx, "ex", "http://example.org/") }, "<nil>"},
		{"keep prefixes", func() (any, error) {
			return nil, f.prefixes.Keep(ctx, map[string]string{"ex": "http://example.com/", "foaf": "http://example.net/", "y": "http://example.org/y/"})
		}, "<nil>"},
		{"remove a prefix", func() (any, error) { return nil, f.prefixes.Remove(ctx, "y") }, "<nil>"},
		{"prefixes", func() (any, error) {
			list, err := f.prefixes.List(ctx)
			return fmt.Sprintf("%v %s %q", list.Kept, list.WellKnown["rdf"], list.WellKnown["ex"]), err
		}, "map[ex:http://example.org/] http://www.w3.org/1999/02/22-rdf-syntax-ns# \"\""},
		// 6. The store as a whole.
		{"status", func() (any, error) {
			s, err := f.Status(ctx)
			return fmt.Sprint(len(s.Members) > 0, s.ReadOnly), err
		}, "true false"},
		{"backup", func() (any, error) {
			var archive bytes.Buffer
			err := f.Backup(ctx, &archive)
			return archive.Len() > 1024, err
		}, "true"},
	} {
		got, err := step.do()
		if err != nil {
			t.Errorf("%s: %v", step.name, err)
		} else if text := fmt.Sprint(got); text != step.want {
			t.Errorf("%s: %s, want %s", step.name, text, step.want)
		}
	}
	conformErrors(t, f)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, call := range calls(f) {
		if err := call(ended); !errors.Is(err, context.Canceled) && !(name == "status" && err == nil) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
}

// first returns the error that an iterator yields first; nil if it has none.
func first[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// calls are calls of the methods that succeed on an open store.
func calls(f face) map[string]func(context.Context) error {
	p, b, none := triple.Pattern{Predicate: iri("size")}, triple.Bounds{Order: triple.SPO}, client.QueryOptions{}
	one := []triple.Triple{size("a", 1)}
	return map[string]func(context.Context) error{
		"add":            func(ctx context.Context) error { _, err := f.Add(ctx, one); return err },
		"delete":         func(ctx context.Context) error { _, err := f.Delete(ctx, one); return err },
		"delete matches": func(ctx context.Context) error { _, err := f.DeleteMatch(ctx, triple.Exact(one[0])); return err },
		"update": func(ctx context.Context) error {
			_, err := f.Update(ctx, `INSERT DATA { <x:a> <x:b> 1 }`, none)
			return err
		},
		"match":           func(ctx context.Context) error { return first(f.Match(ctx, p)) },
		"range":           func(ctx context.Context) error { return first(f.Range(ctx, b, client.RangeOptions{})) },
		"page of matches": func(ctx context.Context) error { _, err := f.MatchPage(ctx, p, client.PageOptions{}); return err },
		"page of a range": func(ctx context.Context) error { _, err := f.RangePage(ctx, b, client.PageOptions{}); return err },
		"page as N-Quads": func(ctx context.Context) error {
			_, err := f.MatchPage(ctx, p, client.PageOptions{NQuads: io.Discard})
			return err
		},
		"count":     func(ctx context.Context) error { _, err := f.Count(ctx, p); return err },
		"estimate":  func(ctx context.Context) error { _, _, err := f.Estimate(ctx, p); return err },
		"query":     func(ctx context.Context) error { return first(f.Query(ctx, `SELECT * { ?s ?p ?o }`, none)) },
		"ask":       func(ctx context.Context) error { _, err := f.Ask(ctx, `ASK { ?s ?p ?o }`, none); return err },
		"construct": func(ctx context.Context) error { return first(f.Construct(ctx, `CONSTRUCT WHERE { ?s ?p ?o }`, none)) },
		"explain": func(ctx context.Context) error {
			_, err := f.Explain(ctx, `SELECT * { ?s ?p ?o }`, true, none)
			return err
		},
		"backup":      func(ctx context.Context) error { return f.Backup(ctx, &bytes.Buffer{}) },
		"annotations": func(ctx context.Context) error { _, err := f.annotations.List(ctx, one[0]); return err },
		"annotate": func(ctx context.Context) error {
			_, err := f.annotations.Set(ctx, one[0], client.Annotation{ApplicationID: "x"}, client.AnnotationCondition{})
			return err
		},
		"prefixes":     func(ctx context.Context) error { _, err := f.prefixes.List(ctx); return err },
		"set a prefix": func(ctx context.Context) error { return f.prefixes.Set(ctx, "ex", "http://example.org/") },
	}
}

// conformErrors compares the errors of a store that has some triples.
func conformErrors(t *testing.T, f face) {
	ctx, none := t.Context(), client.QueryOptions{}
	word := triple.NewString("a literal")
	badPattern := triple.Pattern{Subject: triple.NewIRI("not an IRI")}
	badBounds := triple.Bounds{Order: triple.SPO, GE: iri("a"), GT: iri("b")}
	page, err := f.MatchPage(ctx, triple.Pattern{Predicate: iri("size")}, client.PageOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		err  error
		want error
	}{
		{"a pattern without a meaning", first(f.Match(ctx, badPattern)), client.ErrBadRequest},
		{"its count", second(f.Count(ctx, badPattern)), client.ErrBadRequest},
		{"its page", second(f.MatchPage(ctx, badPattern, client.PageOptions{})), client.ErrBadRequest},
		{"a writer that fails", second(f.MatchPage(ctx, triple.Pattern{}, client.PageOptions{NQuads: failingWriter{}})), io.ErrShortWrite},
		{"its delete", second(f.DeleteMatch(ctx, badPattern)), client.ErrBadRequest},
		{"bounds", first(f.Range(ctx, badBounds, client.RangeOptions{})), client.ErrBadRequest},
		{"their page", second(f.RangePage(ctx, badBounds, client.PageOptions{})), client.ErrBadRequest},
		{"a delete of everything", second(f.DeleteMatch(ctx, triple.Pattern{})), client.ErrBadRequest},
		{"an offset with a cursor", second(f.MatchPage(ctx, triple.Pattern{Predicate: iri("size")}, client.PageOptions{Cursor: page.Next, Offset: 1})), client.ErrBadRequest},
		{"a damaged cursor", second(f.MatchPage(ctx, triple.Pattern{}, client.PageOptions{Cursor: "?"})), client.ErrBadCursor},
		{"a cursor of another pattern", second(f.MatchPage(ctx, triple.Pattern{Subject: iri("a")}, client.PageOptions{Cursor: page.Next})), client.ErrBadCursor},
		{"an invalid triple", second(f.Add(ctx, []triple.Triple{{Subject: word, Predicate: iri("p"), Object: word}})), triple.ErrBadTerm},
		{"a malformed query", first(f.Query(ctx, `SELECT {`, none)), client.ErrSyntax},
		{"a malformed question", second(f.Ask(ctx, `ASK {`, none)), client.ErrSyntax},
		{"a malformed update", second(f.Update(ctx, `DROP`, none)), client.ErrSyntax},
		{"a malformed plan", second(f.Explain(ctx, `SELECT {`, false, none)), client.ErrSyntax},
		{"an ASK for Query", first(f.Query(ctx, `ASK {}`, none)), client.ErrNotAcceptable},
		{"a SELECT for Ask", second(f.Ask(ctx, `SELECT * {}`, none)), client.ErrNotAcceptable},
		{"a SELECT for Construct", first(f.Construct(ctx, `SELECT * {}`, none)), client.ErrNotAcceptable},
		{"too little time", first(f.Query(ctx, `SELECT (COUNT(*) AS ?count) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r . ?s ?t ?u . ?v ?w ?x FILTER(?c + ?f + ?i + ?l + ?o + ?r + ?u + ?x < 0) }`,
			client.QueryOptions{Timeout: 20 * time.Millisecond})), client.ErrQueryTimeout},
		{"a graph that exists", second(f.Update(ctx, `CREATE GRAPH <http://example.org/g>`, none)), client.ErrConflict},
		{"annotations of no triple", second(f.annotations.List(ctx, size("z", 9))), client.ErrNotFound},
		{"an annotation of no triple", second(f.annotations.Set(ctx, size("z", 9), client.Annotation{ApplicationID: "x"}, client.AnnotationCondition{})), client.ErrNotFound},
		{"an annotation that exists", second(f.annotations.Set(ctx, size("f", 6), client.Annotation{ApplicationID: "y"}, client.AnnotationCondition{Absent: true})), client.ErrPrecondition},
		{"another version", f.annotations.Remove(ctx, size("f", 6), "y", client.AnnotationCondition{Version: "none"}), client.ErrPrecondition},
		{"a prefix that is none", f.prefixes.Set(ctx, "a b", "http://example.org/"), client.ErrBadRequest},
		{"a missing prefix", f.prefixes.Remove(ctx, "missing"), client.ErrNotFound},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
}

// failingWriter is a writer without room.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }
