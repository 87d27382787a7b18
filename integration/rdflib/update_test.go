// Random updates on trefoil and rdflib.

package rdflib

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/integration/conformance"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// TestUpdates compares what random update requests leave of random data.
// TREFOIL_SEED repeats a run or begins another, TREFOIL_UPDATES says how many.
func TestUpdates(t *testing.T) {
	seed, updates := setting(t, "TREFOIL_SEED", 1), setting(t, "TREFOIL_UPDATES", 200)
	if testing.Short() {
		updates = min(updates, 50)
	}
	t.Logf("TREFOIL_SEED=%d TREFOIL_UPDATES=%d", seed, updates)
	c := comparison{oracle: startOracle(t), store: openStore(t)}
	changed := 0
	for n := 0; n < updates && c.failed < maxReported; n++ {
		rng := rand.New(rand.NewPCG(uint64(seed), 1<<32+uint64(n)))
		zones := rng.IntN(2) == 0
		data := dataset(rng, zones)
		g := &generator{rng: rng, zones: zones}
		request := g.request(data)
		got, want, message := c.updates(t, data, request)
		if message != "" {
			c.unanswered++
			c.last = message + " for " + request
			if testing.Verbose() {
				t.Log(c.last)
			}
			continue
		}
		if same, err := conformance.Isomorphic(got, want); !same {
			c.failed++
			for i := len(data) - 1; i >= 0; i-- {
				less := slices.Delete(slices.Clone(data), i, i+1)
				lessGot, lessWant, _ := c.updates(t, less, request)
				if same, _ := conformance.Isomorphic(lessGot, lessWant); !same {
					data, got, want = less, lessGot, lessWant
				}
			}
			t.Errorf("TREFOIL_SEED=%d, update %d, %v:\n%s\nof%s\ngot  %s\nwant %s", seed, n, err, request, statements(data, nil), statements(got, want), statements(want, got))
		}
		if same, _ := conformance.Isomorphic(data, want); !same {
			changed++
		}
	}
	t.Logf("%d updates, %d of them change something, %d that the oracle cannot do", updates, changed, c.unanswered)
	if c.unanswered*20 > updates {
		t.Errorf("the oracle cannot do %d of %d updates; the last: %s", c.unanswered, updates, c.last)
	}
	if changed*3 < updates && !t.Failed() {
		t.Errorf("only %d of %d updates change something", changed, updates)
	}
}

// updates returns what a request leaves by trefoil and by the oracle, or the
// oracle's error.
func (c *comparison) updates(t *testing.T, data []triple.Triple, request string) (got, want []triple.Triple, message string) {
	t.Helper()
	replies, err := c.oracle.ask(job{Data: [][][][]string{encode(data)}, Update: request})
	require.NoError(t, err)
	if message := replies[0][0].Error; message != "" {
		return nil, nil, message
	}
	return c.update(t, data, request), decode(replies[0][0].Graph), ""
}

// update carries out a request in the store, and returns all that is there then.
func (c *comparison) update(t *testing.T, data []triple.Triple, request string) []triple.Triple {
	t.Helper()
	ctx := context.Background()
	c.hold(t, data)
	prepared, err := sparql.PrepareUpdate(request, options())
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	before, err := c.store.Snapshot()
	require.NoError(t, err)
	defer before.Close()
	changes, err := prepared.Run(ctx, before.Source())
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	_, err = store.Apply(ctx, c.store, store.Steps{
		ClearAll: changes.ClearAll, ClearDefault: changes.ClearDefault, ClearGraphs: changes.ClearGraphs,
		Delete: changes.Deletes(), Add: changes.Adds(),
	})
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	after, err := c.store.Snapshot()
	require.NoError(t, err)
	defer after.Close()
	c.held = nil
	for row, err := range after.Match(ctx, triple.Pattern{}, store.ReadOptions{}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		c.held = append(c.held, tr)
	}
	return c.held
}

// statements writes triples but those of others.
func statements(triples, but []triple.Triple) string {
	var b strings.Builder
	for _, tr := range triples {
		if !slices.Contains(but, tr) {
			fmt.Fprintf(&b, "\n     %s", tr)
		}
	}
	return b.String()
}

// request draws an update request of up to three operations.
func (g *generator) request(data []triple.Triple) string {
	var operations []string
	for range 1 + g.rng.IntN(3) {
		operations = append(operations, g.operation(data))
	}
	return strings.Join(operations, " ;\n")
}

func (g *generator) operation(data []triple.Triple) string {
	switch g.rng.IntN(9) {
	case 0:
		return "INSERT DATA { " + g.ground(data) + " }"
	case 1:
		return "DELETE DATA { " + g.ground(data) + " }"
	case 2:
		patterns := g.template() + " " + g.template()
		if g.chance(50) {
			patterns += " GRAPH " + g.pick("?g", "<x:g1>") + " { " + g.template() + " }"
		}
		return "DELETE WHERE { " + patterns + " }"
	case 3:
		// SILENT: whether a graph without triples is there is up to the store.
		return g.pick("CLEAR", "DROP") + " SILENT " + g.pick("DEFAULT", "NAMED", "ALL", "GRAPH <x:g1>", "GRAPH <x:g2>")
	case 4:
		return g.pick("ADD", "MOVE", "COPY") + " SILENT " + g.pick("DEFAULT TO <x:g1>", "<x:g1> TO DEFAULT", "<x:g1> TO <x:g2>", "<x:g2> TO <x:g3>", "<x:g1> TO <x:g1>")
	}
	return g.modify()
}

// ground writes triples without blank nodes, some of them of the data.
func (g *generator) ground(data []triple.Triple) string {
	var b strings.Builder
	for range 1 + g.rng.IntN(4) {
		tr := one(g.rng, data)
		if g.chance(30) {
			tr.Graph = one(g.rng, []triple.Term{{}, iri("g1"), iri("g3")})
		}
		if g.chance(30) {
			tr.Predicate, tr.Object = object(g.rng, nodes, g.zones)
		}
		if tr.Subject.Kind() == triple.Blank || tr.Object.Kind() == triple.Blank {
			continue
		}
		text := fmt.Sprintf("%s %s %s .", tr.Subject, tr.Predicate, strings.ReplaceAll(tr.Object.String(), "\t", `\t`))
		if !tr.Graph.IsZero() {
			text = fmt.Sprintf("GRAPH %s { %s }", tr.Graph, text)
		}
		b.WriteString(text + " ")
	}
	return b.String()
}

// template is a triple pattern without blank nodes and paths.
func (g *generator) template() string {
	o := g.of("abcnsldtm", "?b", "?n1", "<x:d>", "1")
	return g.pick("?a", "?a", "?b", "?c", "<x:a>") + " <x:" + g.pick("p", "q", "r", "n", "s", "m") + "> " + o + " ."
}

func (g *generator) modify() string {
	where := g.group(1)
	quads := func() string {
		text := g.template()
		if g.chance(40) {
			text += " GRAPH " + g.pick("?g", "<x:g1>", "<x:g3>") + " { " + g.template() + " }"
		}
		return text
	}
	// What the pattern matches is deleted: mostly its own triples.
	deletes, inserts := quads(), quads()
	if first := where[0].open; g.chance(60) && !strings.Contains(first, "[]") && !strings.ContainsAny(first, "(|*+!^/") && !strings.Contains(first, ">?") {
		deletes = first + " " + g.pick("", deletes)
	}
	if g.chance(20) {
		inserts += " _:x <x:of> ?a . ?a <x:has> _:x ."
	}
	var b strings.Builder
	if g.chance(25) {
		b.WriteString("WITH <x:g1> ")
	}
	switch g.rng.IntN(4) {
	case 0:
		b.WriteString("DELETE { " + deletes + " } ")
	case 1:
		b.WriteString("INSERT { " + inserts + " } ")
	default:
		b.WriteString("DELETE { " + deletes + " } INSERT { " + inserts + " } ")
	}
	if g.chance(20) {
		b.WriteString(g.pick("USING <x:g1>", "USING <x:g1> USING <x:g2>", "USING NAMED <x:g2>", "USING <x:g2> USING NAMED <x:g1>") + " ")
	}
	b.WriteString("WHERE ")
	where.write(&b)
	return b.String()
}
