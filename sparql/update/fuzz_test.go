// Fuzz test: a request ends, with an error or with changes.

package update_test

import (
	"context"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// FuzzRun: a well-formed request must be carried out or rejected, and its changes must be
// canonical and made of triples.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		`DELETE { ?s ?p ?o } INSERT { ?o ?p [] } WHERE { ?s ?p ?o } ; CLEAR <g>`,
		`WITH <g> DELETE { ?s <q> ?o } INSERT { GRAPH ?o { ?s <r> ?o } } USING NAMED <h> WHERE { GRAPH ?o { ?s ?p ?x } }`,
		`COPY <g> TO DEFAULT ; MOVE SILENT <h> TO <i> ; DROP NAMED ; CREATE GRAPH <g> ; INSERT DATA { _:a <p> (1 2) }`,
		`LOAD SILENT <d> ; DELETE WHERE { GRAPH ?g { ?s ?p ?o } } ; INSERT { ?x <p> ?y } WHERE { VALUES (?x ?y) { (1 2) (<a> "a"@en) } }`,
		`INSERT DATA { _:a <p> <<( _:a <q> _:b )>> {| <r> 1 |} } ; INSERT { ?s ?p <<( ?o ?p [] )>> . <<?s ?p ?o>> <by> ?s } WHERE { ?s ?p ?o } ; DELETE WHERE { ?r ?q <<( ?s ?p "a"@en )>> }`,
		`INSERT { ?s ?p ?n } WHERE { ?s ?p ?o BIND(STRDT(STR(?o), ?s) AS ?n) OPTIONAL { ?o ?p ?x } MINUS { ?s <q> 1 } }`,
	} {
		f.Add(seed)
	}
	before := quads(f, given)
	f.Fuzz(func(t *testing.T, text string) {
		opts := sparql.Options{Options: exec.Options{Uint64: counter(), Memory: 8 << 20}, UpdateMemory: 1 << 20}
		opts.Parser.Base = "x:"
		p, err := sparql.PrepareUpdate(text, opts)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		changes, err := p.Run(ctx, before.source())
		if err != nil {
			return
		}
		canonical(t, changes)
		for tr := range changes.Adds() {
			if err := tr.Check(); err != nil {
				t.Errorf("added: %s: %v", tr, err)
			}
		}
	})
}
