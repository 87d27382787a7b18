// Text search by SPARQL: a server of trefoil's and one of Jena's, with the same searches.

package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// label and the others are the predicates with the texts of the generated data.
const (
	label = "http://www.w3.org/2000/01/rdf-schema#label"
	bsbm  = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/"
)

var predicates = []string{
	label, "http://www.w3.org/2000/01/rdf-schema#comment", "http://purl.org/dc/elements/1.1/title", "http://purl.org/stuff/rev#text",
	bsbm + "productPropertyTextual1", bsbm + "productPropertyTextual2", bsbm + "productPropertyTextual3", bsbm + "productPropertyTextual4",
	bsbm + "productPropertyTextual5", "http://trefoil.example/shop#description", "http://trefoil.example/shop#text",
}

// endpoint is a server with SPARQL and text search.
type endpoint struct {
	name          string
	query, update string // addresses
	search        string // a query; %s is a search for the 10 best literals, as a SPARQL string
}

const (
	trefoilSearch = `PREFIX text: <urn:trefoil:text:> SELECT ?l ?score { ?l text:matches %s ; text:score ?score } ORDER BY DESC(?score) LIMIT 10`
	jenaSearch    = `PREFIX text: <http://jena.apache.org/text#> SELECT ?l ?score { (?s ?score ?l) text:query (%s 10) }`
)

// post sends a query or an update, and returns the answer.
func (e *endpoint) post(ctx context.Context, address, kind, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/sparql-"+kind)
	request.Header.Set("Accept", "text/csv")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %.500s", e.name, answer.Status, body)
	}
	return string(body), err
}

// find returns the number of rows of a search.
func (e *endpoint) find(ctx context.Context, search string) (int, error) {
	rows, err := e.post(ctx, e.query, "query", fmt.Sprintf(e.search, "'''"+search+"'''"))
	return strings.Count(strings.TrimSpace(rows), "\n"), err
}

// sparql measures searches by SPARQL, and updates that are searched for at once.
func (b *bench) sparql(ctx context.Context, e *endpoint, queries []query) error {
	for _, q := range queries {
		var times rig.Times
		rows := 0
		for i := range 2 * b.searches {
			begun := time.Now()
			n, err := e.find(ctx, q.text)
			if err != nil {
				return err
			}
			if rows = n; i >= b.searches { // the first half warms up
				times = append(times, time.Since(begun))
			}
		}
		b.Report.Row(fmt.Sprintf("%s: SPARQL, %d rows, %s", e.name, rows, q.kind), "", "%s", times)
	}
	// Each update is searched for at once, because an index may lag behind the store.
	begun := time.Now()
	for i := range b.updates {
		word := fmt.Sprintf("sparql%d", i)
		if _, err := e.post(ctx, e.update, "update", fmt.Sprintf("INSERT DATA { <http://example.org/%s> <%s> 'a %s literal' }", word, label, word)); err != nil {
			return err
		}
		if n, err := e.find(ctx, word); err != nil || n != 1 {
			return fmt.Errorf("%s: %d rows for %s: %w", e.name, n, word, err)
		}
	}
	b.Report.Row(e.name+": updates, each searched for and found, one client", "", "%s/s", rig.Thousands(rig.PerSecond(int64(b.updates), time.Since(begun))))
	return nil
}

// jenaSettings describe a server of Jena's with TDB2 and an index of text in the directory %s. %s is the predicates.
const jenaSettings = `PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX tdb2: <http://jena.apache.org/2016/tdb#>
PREFIX text: <http://jena.apache.org/text#>
<#service> a fuseki:Service ; fuseki:name "ds" ; fuseki:dataset <#data> ;
  fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] , [ fuseki:operation fuseki:update ; fuseki:name "update" ] .
<#data> a text:TextDataset ; text:dataset <#store> ; text:index <#index> .
<#store> a tdb2:DatasetTDB2 ; tdb2:location "%[1]s/store" .
<#index> a text:TextIndexLucene ; text:directory "%[1]s/index" ; text:entityMap <#map> ; text:storeValues true .
<#map> a text:EntityMap ; text:entityField "uri" ; text:defaultField "text" ; text:map ( %[2]s ) .
`

// jena measures Jena's text search (jena-text, with Lucene) of the same data.
func (b *bench) jena(ctx context.Context, data string, tokens uint64, queries []query) error {
	// 1. Settings.
	dir, err := os.MkdirTemp(b.Dir, "jena-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	jar := filepath.Join(b.fuseki, "jena-fuseki-server.jar")
	var fields strings.Builder
	for _, p := range predicates {
		fmt.Fprintf(&fields, "[ text:field \"text\" ; text:predicate <%s> ] ", p)
	}
	settings := filepath.Join(dir, "settings.ttl")
	if err := os.WriteFile(settings, fmt.Appendf(nil, jenaSettings, dir, fields.String()), 0o644); err != nil {
		return err
	}
	// 2. Load, then build the index.
	if _, err := rig.Output(exec.CommandContext(ctx, "java", "-Xmx4g", "-cp", jar, "tdb2.tdbloader", "--loc", filepath.Join(dir, "store"), data)); err != nil {
		return err
	}
	begun := time.Now()
	if _, err := rig.Output(exec.CommandContext(ctx, "java", "-Xmx4g", "-cp", jar, "jena.textindexer", "--desc="+settings)); err != nil {
		return err
	}
	took := time.Since(begun)
	size, err := rig.DirSize(filepath.Join(dir, "index"))
	if err != nil {
		return err
	}
	b.Report.Row("jena-text: build from the store, with the start of Java", "", "%s tokens/s of trefoil's count (%.1f s)", rig.Thousands(rig.PerSecond(int64(tokens), took)), took.Seconds())
	b.Report.Row("jena-text: bytes a token, with the literals", "", "%.2f", rig.Ratio(float64(size), float64(tokens)))
	// 3. Serve.
	port, err := rig.FreePort()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx4g", "-jar", jar, "--localhost", "--port", fmt.Sprint(port), "--config", settings)
	cmd.Dir = dir // it makes a directory "run" where it is started
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
	}()
	at := fmt.Sprintf("http://127.0.0.1:%d/ds/", port)
	e := &endpoint{name: "jena-text", query: at + "sparql", update: at + "update", search: jenaSearch}
	err = rig.WaitFor(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := e.post(ctx, e.query, "query", "ASK {}")
		return err
	})
	if err != nil {
		return errors.Join(err, errors.New(log.String()))
	}
	return b.sparql(ctx, e, queries)
}
