// The service description (https://www.w3.org/TR/sparql11-service-description/): the features of
// /sparql as RDF, if a GET has no query.

package sparql

import (
	"bytes"
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const (
	sdNS      = "http://www.w3.org/ns/sparql-service-description#"
	formatsNS = "http://www.w3.org/ns/formats/"
)

var describedFormats = []string{"SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
	"Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD"}

// describeService answers a GET without parameters.
func (a *API) describeService(w http.ResponseWriter, r *request.Request) error {
	// 1. Choose the format.
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, nil, graphFormats)
	if err != nil {
		e := problem.As(err)
		e.Message = "the service's description comes in other formats (" + e.Message + "); a query is sent as the parameter query"
		return e
	}
	// 2. Write the description in memory, because it is small.
	base, err := a.URL.Base(r.Request)
	if err != nil {
		return err
	}
	endpoint := base + Path
	var body bytes.Buffer
	out, err := syntax.NewWriter(&body, f.syntax, map[string]string{"sd": sdNS, "format": formatsNS})
	if err != nil {
		return err
	}
	for _, t := range a.serviceTriples(triple.NewIRI(endpoint)) {
		if err := out.Write(t); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return response.WriteWhole(w, f.contentType, body.Bytes())
}

func (a *API) serviceTriples(endpoint triple.Term) []triple.Triple {
	service, dataset, graph := triple.NewBlank("service"), triple.NewBlank("dataset"), triple.NewBlank("default")
	sd := func(name string) triple.Term { return triple.NewIRI(sdNS + name) }
	isA := triple.NewIRI(triple.RDFType)
	var all []triple.Triple
	say := func(s, p, o triple.Term) { all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o}) }

	// 1. The service: its endpoint, languages, formats and features.
	say(service, isA, sd("Service"))
	say(service, sd("endpoint"), endpoint)
	say(service, sd("supportedLanguage"), sd("SPARQL11Query"))
	if !a.Changes.ReadOnly {
		say(service, sd("supportedLanguage"), sd("SPARQL11Update"))
	}
	for _, name := range describedFormats {
		say(service, sd("resultFormat"), triple.NewIRI(formatsNS+name))
	}
	features := a.engine.Features()
	if features.UnionDefaultGraph {
		say(service, sd("feature"), sd("UnionDefaultGraph"))
	}
	if features.Federation {
		say(service, sd("feature"), sd("BasicFederatedQuery"))
	}
	// 2. The dataset. The named graphs are left out, because there may be millions of them.
	say(service, sd("defaultDataset"), dataset)
	say(dataset, isA, sd("Dataset"))
	say(dataset, sd("defaultGraph"), graph)
	say(graph, isA, sd("Graph"))
	return all
}
