// Functions and bulk loads.

package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// load loads triples in bulk.
func (b *bench) load(triples ...triple.Triple) {
	b.Helper()
	var text []byte
	for _, t := range triples {
		text = fmt.Appendf(text, "%s .\n", textOf(t))
	}
	source := input.Document("load.nt", strings.NewReader(string(text)), -1, syntax.Syntax(0))
	if _, err := rdfload.Load(WithUnchecked(b.ctx), b.checked.Sink(), []input.Source{source}, rdfload.Options{}); err != nil {
		b.Fatal(err)
	}
}

// TestLoadsAndChecks: a load is rejected if there is a check for adds at its begin or at its end, unless
// it says that it is not checked. A check for deletes does not matter.
func TestLoadsAndChecks(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	check := Registration{Name: "ages", Mode: Check, Pattern: "? <http://example.org/age> ?", TimeoutMS: 10_000}
	number := 0
	load := func(ctx context.Context, beforePublish func(context.Context) error) error {
		number++
		text := fmt.Sprintf("<a:s> <a:p> \"%d\" .\n", number)
		source := input.Document("load.nt", strings.NewReader(text), -1, syntax.Syntax(0))
		_, err := rdfload.Load(ctx, b.checked.Sink(), []input.Source{source}, rdfload.Options{BeforePublish: beforePublish})
		return err
	}
	late := func(context.Context) error { b.put(check, module(t, "schema")); return nil }
	deletes := check
	deletes.Name, deletes.Kinds = "deletes", []string{"delete"}
	b.put(deletes, module(t, "schema"))
	for i, got := range []error{
		load(b.ctx, nil), load(b.ctx, late), load(b.ctx, nil), load(WithUnchecked(b.ctx), nil), b.service.Delete(b.ctx, "ages"), load(b.ctx, nil),
	} {
		if rejected := i == 1 || i == 2; errors.Is(got, store.ErrRejected) != rejected || !rejected && got != nil {
			t.Errorf("%d: %v", i, got)
		}
	}
	if n := b.count(triple.Pattern{Subject: triple.NewIRI("a:s")}); n != 3 {
		t.Errorf("%d triples, want those of three loads", n)
	}
}

// TestLoads checks that a function runs for the triples of a load only if it is registered for loads, and once for each, also if the load takes several intents and the service restarts.
func TestLoads(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	with := counter
	with.Loads = true
	b.put(with, module(t, "counter"))
	b.put(Registration{Name: "inverse", Pattern: "? <http://example.org/likes> ?", TimeoutMS: 10_000}, module(t, "inverse"))
	b.add(likes(0), likes(1))
	var all []triple.Triple
	for i := range 3000 {
		all = append(all, likes(i), of(fmt.Sprint("p", i), "knows", "x"))
	}
	b.load(all...)
	// Restart while the load is processed.
	b.eventually("a part of the load", func() bool { return b.state("counter").Counts.Calls > 500 })
	if err := b.service.Close(); err != nil {
		t.Fatal(err)
	}
	b.service = Open(Options{Store: b.db, Feed: b.db.Feed()})
	b.checked = b.service.Checked()
	b.add(likes(5000))
	b.eventually("the counter", func() bool {
		got := b.objects("counter", "value")
		return len(got) == 1 && got[0] == "3003" // the load has two triples again that existed
	})
	b.eventually("the counts", func() bool { return b.state("inverse").Counts.Calls == 3 })
}

// TestBehindEarlierLoad: a cluster's feed may send a load again behind a later one that is done. The
// place behind one of its rows is that load's.
func TestBehindEarlierLoad(t *testing.T) {
	r := &runner{inLoad: "a", loadRow: []byte("row")}
	r.at.loads = []LoadProgress{{ID: "a", After: []byte("before")}, {ID: "b", Done: true}}
	after := r.progressBehind(&feed.Change{Kind: feed.Add})
	if a, b := after.loads[0], after.loads[1]; string(a.After) != "row" || b.After != nil {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if a := r.at.loads[0]; string(a.After) != "before" {
		t.Errorf("the place before moved: %+v", a)
	}
}
