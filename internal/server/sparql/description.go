// The service description (https://www.w3.org/TR/sparql11-service-description/): the features of
// /sparql as RDF, if a GET has no query.

package sparql

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

const (
	sdNS         = "http://www.w3.org/ns/sparql-service-description#"
	versionNS    = "http://www.w3.org/ns/sparql#version-"
	formatsNS    = "http://www.w3.org/ns/formats/"
	entailmentNS = "http://www.w3.org/ns/entailment/"
)

var describedFormats = []string{"SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
	"Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD"}

// inputFormats are those of LOAD.
var inputFormats = []string{"Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD"}

// describeService answers a GET without parameters.
func (a *API) describeService(w http.ResponseWriter, r *request.Request) error {
	return a.writeDescription(w, r, func(ctx context.Context, base string) ([]triple.Triple, error) {
		graphs, err := a.count(ctx, r, countGraphs)
		return a.serviceTriples(triple.NewIRI(base+Path), graphs), err
	})
}

// writeDescription answers with the triples of a description. They are few. ctx bounds their counts.
func (a *API) writeDescription(w http.ResponseWriter, r *request.Request, triples func(ctx context.Context, base string) ([]triple.Triple, error)) error {
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, nil, graphFormats)
	if err != nil {
		e := problem.As(err)
		if r.URL.Path != VoIDPath {
			e.Message = "the service's description comes in other formats (" + e.Message + "); a query is sent as the parameter query"
		}
		return e
	}
	base, err := a.URL.Base(r.Request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.CountTime)
	defer cancel()
	all, err := triples(ctx, base)
	if err != nil {
		return err
	}
	// If the writer fails, no byte must have been sent, because the answer is then an error.
	var body bytes.Buffer
	out, err := syntax.NewWriter(&body, f.syntax, map[string]string{"sd": sdNS, "format": formatsNS, "void": voidNS, "ent": entailmentNS, "xsd": triple.XSD})
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := out.Write(t); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return response.WriteWhole(w, f.contentType, body.Bytes())
}

// serviceTriples returns the description. graphs are the named graphs, nil if they are not known.
func (a *API) serviceTriples(endpoint triple.Term, graphs *groups) []triple.Triple {
	service, dataset, graph := triple.NewBlank("service"), triple.NewBlank("dataset"), triple.NewBlank("default")
	sd := func(name string) triple.Term { return triple.NewIRI(sdNS + name) }
	isA := triple.NewIRI(triple.RDFType)
	var all []triple.Triple
	say := func(s, p, o triple.Term) { all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o}) }

	// 1. The service: its endpoint, languages, formats and features.
	say(service, isA, sd("Service"))
	say(service, sd("endpoint"), endpoint)
	// A version has a property of its own since 1.2; clients of 1.1 look for it in the language.
	for _, version := range response.Versions {
		say(service, sd("supportedVersion"), triple.NewIRI(versionNS+string(version)))
	}
	languages := []string{"SPARQLQuery", "SPARQL11Query"}
	if !a.Changes.ReadOnly {
		languages = append(languages, "SPARQLUpdate", "SPARQL11Update")
	}
	for _, language := range languages {
		say(service, sd("supportedLanguage"), sd(language))
	}
	for _, name := range describedFormats {
		say(service, sd("resultFormat"), triple.NewIRI(formatsNS+name))
	}
	if !a.Changes.ReadOnly {
		for _, name := range inputFormats {
			say(service, sd("inputFormat"), triple.NewIRI(formatsNS+name))
		}
	}
	say(service, sd("defaultEntailmentRegime"), triple.NewIRI(entailmentNS+"Simple")) // none beyond the triples
	features := a.engine.Features()
	if features.Links {
		for _, iri := range ast.LinkFunctions() {
			say(service, sd("propertyFeature"), triple.NewIRI(iri))
		}
	}
	if features.Text {
		for _, iri := range ast.TextPredicates() {
			say(service, sd("propertyFeature"), triple.NewIRI(iri))
		}
	}
	if features.UnionDefaultGraph {
		say(service, sd("feature"), sd("UnionDefaultGraph"))
	}
	if features.Federation {
		say(service, sd("feature"), sd("BasicFederatedQuery"))
	}
	// 2. The dataset. Named graphs are listed if there are not too many.
	say(service, sd("defaultDataset"), dataset)
	say(dataset, isA, sd("Dataset"))
	say(dataset, sd("defaultGraph"), graph)
	say(graph, isA, sd("Graph"))
	for i, g := range graphs.listable() {
		named, content := triple.NewBlank("named"+strconv.Itoa(i)), triple.NewBlank("graph"+strconv.Itoa(i))
		say(dataset, sd("namedGraph"), named)
		say(named, isA, sd("NamedGraph"))
		say(named, sd("name"), g.term)
		say(named, sd("graph"), content)
		say(content, isA, sd("Graph"))
		say(content, void("triples"), integer(g.n))
	}
	return all
}
