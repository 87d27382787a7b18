// The parsers against those of knakk/rdf.

package conformance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// knakkTriples decodes a document with knakk/rdf: a second opinion on documents
// of which it is known that the library takes them.
func knakkTriples(r io.Reader, format rdf.Format, base string) (out []triple.Triple, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("knakk/rdf panics: %v", p)
		}
	}()
	dec := rdf.NewTripleDecoder(r, format)
	if base != "" {
		iri, err := rdf.NewIRI(base)
		if err != nil {
			return nil, err
		}
		if err := dec.SetOption(rdf.Base, iri); err != nil {
			return nil, err
		}
	}
	for {
		t, err := dec.Decode()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		line := strings.TrimRight(t.Serialize(rdf.NTriples), "\n")
		sc := triple.NewScanner(strings.NewReader(line), triple.ScanOptions{Source: "knakk/rdf"})
		if !sc.Scan() {
			return nil, fmt.Errorf("knakk/rdf wrote %q: %w", line, sc.Err())
		}
		out = append(out, sc.Triple().Clone())
	}
}

// TestKnakkNTriples compares our scanner with knakk/rdf on real data.
func TestKnakkNTriples(t *testing.T) {
	f, err := os.Open(Shared(t, "data", "schemaorg", "schemaorg-all-https.nt"))
	require.NoError(t, err)
	defer f.Close()
	theirs, err := knakkTriples(f, rdf.NTriples, "")
	require.NoError(t, err)
	ours := asSet(t, parseFile(t, "data", "schemaorg", "schemaorg-all-https.nt"))
	if len(theirs) != len(ours) {
		t.Errorf("knakk/rdf reads %d triples, we read %d", len(theirs), len(ours))
	}
	for _, triple := range theirs {
		if !ours[triple] {
			t.Fatalf("only knakk/rdf reads %s", triple)
		}
	}
}

// TestKnakkRDFXML compares the graphs of the W3C suite's positive tests where
// knakk/rdf decodes them: its RDF/XML decoder is why ours is not it (see
// rdfload/DESIGN.md), and agrees with ours wherever it gets to the end.
func TestKnakkRDFXML(t *testing.T) {
	agreed, gaveUp := 0, 0
	for _, test := range Load(t, "rdf/rdf11/rdf-xml") {
		if test.Type != "TestXMLEval" {
			continue
		}
		f, err := os.Open(test.ActionPath())
		require.NoError(t, err)
		theirs, err := knakkTriples(f, rdf.RDFXML, test.Base)
		if err != nil {
			gaveUp++
			f.Close()
			continue
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		ours, err := collect(t, parseRDFXML(f, test.Action, test.Base))
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", test.ID, err)
			continue
		}
		same, err := Isomorphic(ours, theirs)
		switch {
		case err != nil:
			t.Errorf("%s: %v", test.ID, err)
		case same:
			agreed++
		default:
			t.Logf("%s: knakk/rdf has another graph", test.ID)
			gaveUp++
		}
	}
	t.Logf("agreed on %d graphs, knakk/rdf failed or differed on %d", agreed, gaveUp)
	if agreed < 70 {
		t.Errorf("agreed on %d graphs only", agreed)
	}
}
