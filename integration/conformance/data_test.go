// Real data sets in several syntaxes.

package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// parseFile parses a file of the shared data as its name says.
func parseFile(t *testing.T, elem ...string) []triple.Triple {
	t.Helper()
	sources, _, err := input.List([]string{Shared(t, elem...)}, input.RDF)
	require.NoError(t, err)
	r, err := sources[0].Open()
	require.NoError(t, err)
	defer r.Close()
	s, err := r.Syntax(sources[0].Name, false)
	require.NoError(t, err)
	triples, err := collect(t, syntax.Parse(context.Background(), r, s, syntax.Options{Source: elem[len(elem)-1]}))
	require.NoError(t, err)
	return triples
}

// asSet drops the graphs and what is there twice. No triple may have a blank node.
func asSet(t *testing.T, triples []triple.Triple) map[triple.Triple]bool {
	t.Helper()
	set := make(map[triple.Triple]bool)
	for _, tr := range triples {
		if tr.Subject.Kind() == triple.Blank || tr.Object.Kind() == triple.Blank {
			t.Fatalf("blank node in %v", tr)
		}
		tr.Graph = triple.Term{}
		set[tr] = true
	}
	return set
}

// TestSchemaOrg: the vocabulary is the same graph in five syntaxes.
func TestSchemaOrg(t *testing.T) {
	const name = "schemaorg-all-https"
	want := asSet(t, parseFile(t, "data", "schemaorg", name+".nt"))
	if len(want) != 18_061 {
		t.Fatalf("%d triples, want 18,061", len(want))
	}
	for _, ext := range []string{".nq", ".ttl", ".rdf", ".jsonld"} {
		t.Run(ext, func(t *testing.T) {
			got := asSet(t, parseFile(t, "data", "schemaorg", name+ext))
			if len(got) != len(want) {
				t.Errorf("%d triples, want %d", len(got), len(want))
			}
			missing := 0
			for tr := range want {
				if !got[tr] {
					if missing++; missing <= 5 {
						t.Errorf("missing %v", tr)
					}
				}
			}
			for tr := range got {
				if !want[tr] {
					if missing++; missing <= 10 {
						t.Errorf("too much %v", tr)
					}
				}
			}
		})
	}
}

// TestMusic: real Turtle, compressed, with IRIs beyond ASCII and escaped names.
func TestMusic(t *testing.T) {
	if got := len(parseFile(t, "data", "music", "music.ttl.gz")); got != 41_099 {
		t.Errorf("%d triples, want 41,099", got)
	}
}

// TestDirty: raw line breaks in literals and '|' in IRIs, rejected statement by
// statement.
func TestDirty(t *testing.T) {
	sources, _, err := input.List([]string{Shared(t, "data", "dirty")}, input.RDF)
	require.NoError(t, err)
	accepted, rejected := 0, 0
	for _, source := range sources {
		r, err := source.Open()
		require.NoError(t, err)
		for _, err := range syntax.Parse(context.Background(), r, syntax.NTriples, syntax.Options{Source: source.Name, KeepGoing: true}) {
			var reject *syntax.Reject
			switch {
			case err == nil:
				accepted++
			case errors.As(err, &reject):
				rejected++
			default:
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if accepted != 102_744 || rejected != 85 {
		t.Errorf("%d accepted, %d rejected; want 102,744 and 85", accepted, rejected)
	}
}

// TestDirectory: of a directory of data and texts, the data is found.
func TestDirectory(t *testing.T) {
	sources, _, err := input.List([]string{Shared(t, "data", "dbpedia-links")}, input.RDF)
	if err != nil || len(sources) != 36 {
		t.Errorf("%d sources, %v; want 36", len(sources), err)
	}
}
