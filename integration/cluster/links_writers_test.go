// Clients that change links at all endpoints of the store while machines fail.

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// linkWriter makes changes at one endpoint, of one process.
type linkWriter struct {
	*linkTorture
	node    *cluster.Node
	graph   *linkgraph.Graph
	random  *rand.Rand
	changes []links.Change
	labels  []labelled // labels that changes cannot express: none, too
}

// labelled is a link with the label that it then has.
type labelled struct {
	edge
	label cell.Label
}

// linkEndpoints make the changes of a writer at the endpoints of the store. They may alter the
// changes first, because not every endpoint has labels and replacements.
var linkEndpoints = []struct {
	name string
	do   func(w *linkWriter, ctx context.Context) error
}{
	{"update", (*linkWriter).update},
	{"update", (*linkWriter).update},
	{"triples", (*linkWriter).asTriples},
	{"sparql", (*linkWriter).bySPARQL},
	{"load", (*linkWriter).byLoad},
	{"annotate", (*linkWriter).annotate},
}

// write makes one random change through a random process.
func (l *linkTorture) write(random *rand.Rand) {
	p := l.faults.anyProcess(random)
	if p == nil {
		return
	}
	// 1. Choose the changes. Nobody else changes their sources.
	w := &linkWriter{linkTorture: l, graph: p.links(), random: random}
	if w.node, _ = p.running(); w.node == nil || w.graph == nil {
		return
	}
	sources := l.claim(random, 1+random.IntN(3))
	for _, source := range sources {
		w.changes = append(w.changes, w.changeOf(source))
	}
	if len(sources) == 0 {
		return
	}
	// 2. Make them. After an error, nobody knows what was made.
	endpoint := linkEndpoints[random.IntN(len(linkEndpoints))]
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(500+random.IntN(15_000))*time.Millisecond)
	defer cancel()
	err := endpoint.do(w, ctx)
	known := err == nil && !p.dead.Load()
	l.release(sources, known, func() {
		for _, c := range w.changes {
			l.apply(c)
		}
		for _, n := range w.labels {
			l.links[n.src][n.dst] = n.label
		}
	})
	if err != nil {
		l.faults.saw(err)
	}
	l.tally.Lock()
	defer l.tally.Unlock()
	if known {
		l.written[endpoint.name]++
	} else {
		l.doubts++
	}
}

// changeOf returns a random change of a source.
func (w *linkWriter) changeOf(source string) links.Change {
	c := links.Change{Kind: links.ChangeKind(w.random.IntN(3)), Source: source}
	for range 1 + w.random.IntN(5) {
		target := randomURL(w.random)
		if w.random.IntN(3) == 0 {
			target = freshURL(w.random) // it may need a UID
		}
		c.Targets = append(c.Targets, target)
	}
	if c.Kind != links.DeleteLinks && w.random.IntN(3) == 0 {
		for range c.Targets {
			c.Labels = append(c.Labels, cell.Label{Weight: float64(1 + w.random.IntN(9)), Anchor: "a"})
		}
	}
	return c
}

// update makes the changes by the graph's own endpoint.
func (w *linkWriter) update(ctx context.Context) error {
	_, err := w.graph.Update(ctx, w.changes)
	return err
}

// plain makes the changes adds or deletes without labels, and returns their links.
func (w *linkWriter) plain(kind links.ChangeKind) (all []triple.Triple) {
	for i := range w.changes {
		c := &w.changes[i]
		c.Kind, c.Labels = kind, nil
		for _, target := range c.Targets {
			all = append(all, links.Link(links.DefaultPredicate, c.Source, target))
		}
	}
	return all
}

// asTriples adds or deletes links as triples.
func (w *linkWriter) asTriples(ctx context.Context) (err error) {
	if w.random.IntN(2) == 0 {
		_, err = store.Add(ctx, w.node, w.plain(links.AddLinks))
	} else {
		_, err = store.Delete(ctx, w.node, w.plain(links.DeleteLinks))
	}
	return err
}

// bySPARQL adds or deletes links by an update of SPARQL.
func (w *linkWriter) bySPARQL(ctx context.Context) error {
	kind, verb := links.AddLinks, "INSERT"
	if w.random.IntN(2) == 0 {
		kind, verb = links.DeleteLinks, "DELETE"
	}
	var request strings.Builder
	for _, t := range w.plain(kind) {
		fmt.Fprintf(&request, "%s DATA { %s %s %s };\n", verb, t.Subject, t.Predicate, t.Object)
	}
	e, err := engine.New(w.node, engine.Options{})
	if err != nil {
		return err
	}
	_, err = e.Update(ctx, request.String(), engine.Params{})
	return err
}

// byLoad adds links by a bulk load, with other triples.
func (w *linkWriter) byLoad(ctx context.Context) error {
	all := append(quads(w.random, 20), w.plain(links.AddLinks)...)
	source := document(w.t, "links.nq", all, 0)
	_, err := rdfload.Load(ctx, w.node.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory, Workers: 1})
	return err
}

// annotate makes a link of each source anew, with a label that is an annotation, or without one.
func (w *linkWriter) annotate(ctx context.Context) error {
	for i := range w.changes {
		c := &w.changes[i]
		c.Targets, c.Labels = c.Targets[:1], nil
		t := links.Link(links.DefaultPredicate, c.Source, c.Targets[0])
		if _, err := store.Add(ctx, w.node, []triple.Triple{t}); err != nil {
			return err
		}
		c.Kind = links.AddLinks
		label, data := cell.NoLabel, []byte(nil)
		if w.random.IntN(3) > 0 {
			label = cell.Label{Weight: float64(1 + w.random.IntN(9)), Anchor: "annotated"}
			data = lists.AppendLabel(nil, label)
		}
		if err := store.Annotate(ctx, w.node, t, links.Application, data); err != nil {
			return err
		}
		w.labels = append(w.labels, labelled{edge{c.Source, c.Targets[0]}, label})
	}
	return nil
}
