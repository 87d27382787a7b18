// Dumps and loads of annotations in a cluster.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// randomAnnotations returns annotations of a triple: often none, ids of any bytes,
// data that is empty, short or long.
func randomAnnotations(random *rand.Rand) (all []store.Annotation) {
	for i := range random.IntN(4) {
		data := make([]byte, []int{0, 3, 200, 20_000}[random.IntN(4)])
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		all = append(all, store.Annotation{ApplicationID: fmt.Sprintf("%c\x00 é%d", 'a'+random.IntN(20), i), Data: data})
	}
	slices.SortFunc(all, func(a, b store.Annotation) int {
		return bytes.Compare([]byte(a.ApplicationID), []byte(b.ApplicationID))
	})
	return all
}

// annotatedText returns the triples, each with its annotations, as sorted lines.
func annotatedText(all map[triple.Triple][]store.Annotation) []byte {
	var lines [][]byte
	for t, annotations := range all {
		lines = append(lines, triple.AppendAnnotated(nil, triple.AppendNQuad(nil, t), annotations))
	}
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, nil)
}

// dumpOf returns what a node has, as annotatedText.
func dumpOf(ctx context.Context, n *cluster.Node) ([]byte, error) {
	sn, err := n.Reader()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	all := map[triple.Triple][]store.Annotation{}
	for row, err := range sn.Match(ctx, triple.Pattern{}, store.ReadOptions{Annotations: true}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		if _, twice := all[t]; twice {
			return nil, fmt.Errorf("%v comes twice", t)
		}
		all[t] = row.Annotations
	}
	return annotatedText(all), nil
}

func (w *world) mustDump(want []byte) {
	w.t.Helper()
	for _, m := range w.up() {
		var got []byte
		w.must("dump", func(ctx context.Context) (err error) {
			got, err = dumpOf(ctx, m.node)
			return err
		})
		if !bytes.Equal(got, want) {
			w.t.Fatalf("%s: %d lines that are not the %d that were loaded", m.name, bytes.Count(got, []byte("\n")), bytes.Count(want, []byte("\n")))
		}
	}
}

// annotatedSource writes lines of annotatedText to a file, in the syntax of its name.
func annotatedSource(t *testing.T, name string, text []byte) input.Source {
	t.Helper()
	text = append([]byte(triple.AnnotationsHeader+"\n"), text...)
	if s, _ := syntax.ByFile(name); s != syntax.NQuads {
		text = translated(t, text, s)
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	sources, _, err := input.List([]string{path}, input.RDF)
	require.NoError(t, err)
	return sources[0]
}

// translated returns N-Quads with annotations as TriG or NDJSON.
func translated(t *testing.T, text []byte, s syntax.Syntax) []byte {
	t.Helper()
	var out bytes.Buffer
	trig, err := syntax.NewTriGWriter(&out, nil)
	require.NoError(t, err)
	var lines []byte
	scanner := triple.NewScanner(bytes.NewReader(text), triple.ScanOptions{Quads: true})
	for scanner.Scan() {
		lines = triple.AppendNDJSON(lines, scanner.Triple(), scanner.Annotations())
		require.NoError(t, trig.WriteAnnotated(scanner.Triple().Clone(), scanner.Annotations()))
	}
	require.NoError(t, errors.Join(scanner.Err(), trig.Close()))
	if s == syntax.NDJSON {
		return lines
	}
	return out.Bytes()
}

// What a cluster has, triples and annotations, is loaded from its dump as it was: on
// one machine and on several, beside all copies, also into what is not empty; it can be
// read with a machine away, and deletes and changes of what was loaded hold.
func TestLoadAnnotations(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 3, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.formAll()
				all := map[triple.Triple][]store.Annotation{}
				annotations := 0
				for _, tr := range quads(w.random, 500) {
					all[tr] = randomAnnotations(w.random)
					if w.random.IntN(5) == 0 { // the same triple in another graph
						tr.Graph = triple.NewIRI("http://e.x/other")
						all[tr] = randomAnnotations(w.random)
					}
				}
				var list []triple.Triple
				for tr := range all {
					list = append(list, tr)
				}
				slices.SortFunc(list, triple.SPO.Compare)
				// Some are there before, with older annotations and with deleted ones.
				for i, tr := range list[:40] {
					w.mustAdd(w.any(), tr)
					for _, a := range all[tr] {
						w.mustNote(w.any(), tr, a.ApplicationID, "old")
					}
					if i%2 == 0 {
						w.mustDelete(w.any(), tr)
					}
				}
				for _, a := range all {
					annotations += len(a)
				}
				text := annotatedText(all)
				s, err := w.any().load(t.Context(), annotatedSource(t, map[int]string{1: "dump.nq", 3: "dump.trig", 5: "dump.ndjson"}[machines], text), false)
				require.NoError(t, err)
				if s.Rejected > 0 || s.Annotations != int64(annotations) {
					t.Fatalf("%+v, %d annotations", s, annotations)
				}
				w.mustDump(text)
				w.settle()
				if machines > 1 {
					w.checkNotes()
					if t.Failed() {
						t.FailNow()
					}
				}
				// Loaded ones can be changed, and go with their triples.
				for i, tr := range list[20:60] {
					switch i % 3 {
					case 0:
						w.mustDelete(w.any(), tr)
						delete(all, tr)
					case 1:
						w.mustDelete(w.any(), tr)
						w.mustAdd(w.any(), tr)
						all[tr] = nil
					default:
						w.mustNote(w.any(), tr, "new", "er")
						all[tr] = append(slices.Clone(all[tr]), store.Annotation{ApplicationID: "new", Data: []byte("er")})
						slices.SortFunc(all[tr], func(a, b store.Annotation) int {
							return bytes.Compare([]byte(a.ApplicationID), []byte(b.ApplicationID))
						})
					}
				}
				text = annotatedText(all)
				w.mustDump(text)
				w.settle()
				if machines > 1 {
					w.checkNotes()
					lost := w.machines[w.random.IntN(machines)]
					id := lost.node.MachineID()
					lost.kill()
					w.mustDump(text)
					w.until("it is excluded", func() bool { return w.excluded(lost, id) })
					w.settle()
					w.checkNotes()
					w.mustDump(text)
				}
			})
		})
	}
}
