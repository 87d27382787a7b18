// The processor time of a node that has nothing to do.

//go:build unix

package node

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// TestIdle: behind each kind of write a node comes to rest. All that follows the change feed runs.
func TestIdle(t *testing.T) {
	seed.Slow(t)
	_, c := serveAll(t)
	one := func(s string) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI("http://example.org/" + s), Predicate: triple.NewIRI("http://example.org/p"), Object: triple.NewString("text " + s)}
	}
	link := triple.Triple{Subject: triple.NewIRI("http://example.org/a"), Predicate: triple.NewIRI(links.DefaultPredicate), Object: triple.NewIRI("http://example.org/b")}
	document := func(s string) string { return string(triple.AppendNQuad(nil, one(s))) }
	update := func(text string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.Update(ctx, text, client.QueryOptions{})
			return err
		}
	}
	for _, write := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"add", func(ctx context.Context) error { _, err := c.Add(ctx, []triple.Triple{one("a"), one("b")}); return err }},
		{"annotation", func(ctx context.Context) error {
			_, err := c.Annotations.Set(ctx, one("a"), client.Annotation{ApplicationID: "app", Content: []byte("x")}, client.AnnotationCondition{})
			return err
		}},
		{"text predicate", func(ctx context.Context) error { return c.Text.AddPredicate(ctx, "http://example.org/p") }},
		{"links", func(ctx context.Context) error { _, err := c.Add(ctx, []triple.Triple{link}); return err }},
		{"delete", func(ctx context.Context) error { _, err := c.Delete(ctx, []triple.Triple{one("b")}); return err }},
		{"update", update(`INSERT { ?s <http://example.org/p> "more text" } WHERE { ?s <http://example.org/p> ?o }`)},
		{"bulk load", func(ctx context.Context) error {
			_, err := c.Load(ctx, strings.NewReader(document("c")), client.LoadOptions{})
			return err
		}},
		{"PUT of a graph", func(ctx context.Context) error {
			_, err := c.Graphs.Put(ctx, client.DefaultGraph, "application/n-triples", []byte(document("d")))
			return err
		}},
		{"CLEAR", update("CLEAR DEFAULT")},
	} {
		if err := write.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", write.name, err)
		}
		idle(t, write.name)
	}
}

// idle waits until this process takes less than 1% of a processor. What a write leaves to do, such as a build, ends
// soon; a follower that reads for ever does not. It is processor time, so other processes do not matter.
func idle(t *testing.T, write string) {
	t.Helper()
	const window, most = 500 * time.Millisecond, 5 * time.Millisecond
	var took time.Duration
	for range 60 {
		before := processorTime(t)
		time.Sleep(window) // a time is measured, not waited for
		if took = processorTime(t) - before; took < most {
			return
		}
	}
	t.Errorf("behind %s: an idle node takes %s of processor time in %s, want less than %s", write, took, window, most)
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
