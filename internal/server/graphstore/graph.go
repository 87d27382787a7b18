// The graph of a request (section 4), and GET and HEAD of it (5.2, 5.6).

package graphstore

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const graphStorePath = "/data"

// API answers for graphs.
type API struct{ *endpoint.Shared }

func New(s *endpoint.Shared) *API { return &API{s} }

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	write := func(body bool, handle endpoint.Handler) *endpoint.Method {
		return &endpoint.Method{OwnParams: true, Writes: true, Body: body, Handle: handle}
	}
	return endpoint.Table{
		graphStorePath: {Below: true, Methods: map[string]*endpoint.Method{
			http.MethodGet:    {OwnParams: true, Handle: a.getGraph, Shown: shown},
			http.MethodPut:    write(true, a.putGraph),
			http.MethodPost:   write(true, a.postGraph),
			http.MethodDelete: write(false, a.deleteGraph),
		}},
	}
}

// shown returns the query for the triples of a graph.
func shown(params url.Values) string {
	graph := strings.Trim(params.Get("graph"), "<>")
	switch {
	case params.Has("default"):
		return "SELECT * WHERE {\n  ?s ?p ?o .\n}\nLIMIT 50"
	case triple.CheckIRI(graph) == nil:
		return "SELECT * WHERE {\n  GRAPH <" + graph + "> { ?s ?p ?o }\n}\nLIMIT 50"
	}
	return "SELECT * WHERE {\n  GRAPH ?g { ?s ?p ?o }\n}\nLIMIT 50"
}

// graphTarget is the target of a request to /data.
type graphTarget struct {
	// store is set if the target is the graph store itself, not a graph.
	store bool
	// graph is an IRI, or the zero Term for the default graph.
	graph triple.Term
	// base is the base of relative IRIs in a document: the graph's IRI or, for the default graph,
	// its URL. It is "" if the request contains no usable host.
	base string
}

// targetOf returns the graph of a request. It is named by ?graph=IRI or ?default (indirect
// identification, section 4.2), or by its own URL below /data (direct, 4.1). The percent-encoding
// of a path is kept, because it is part of the IRI.
func (a *API) targetOf(r *request.Request) (graphTarget, error) {
	if r.URL.Path != graphStorePath {
		return a.directTarget(r)
	}
	// 1. Parse the query. Names must be known and given once.
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return graphTarget{}, problem.Errorf(problem.KindBadRequest, "", "malformed query: %v", err)
	}
	for name, all := range values {
		if name != "graph" && name != "default" {
			return graphTarget{}, request.UnknownParameter(name, []string{"graph", "default"})
		}
		if len(all) > 1 {
			return graphTarget{}, problem.Errorf(problem.KindBadParameter, name, "given %d times; give it once", len(all))
		}
	}
	// 2. Resolve it: the default graph, a named one, or the store itself.
	switch {
	case values.Has("graph") && values.Has("default"):
		return graphTarget{}, problem.Errorf(problem.KindBadRequest, "", "both graph and default; a request is about one graph")
	case values.Get("default") != "":
		return graphTarget{}, problem.Errorf(problem.KindBadParameter, "default", "takes no value: ?default")
	case values.Has("default"):
		t := graphTarget{}
		if base, err := a.URL.Base(r.Request); err == nil {
			t.base = base + graphStorePath + "?default"
		}
		return t, nil
	case values.Has("graph"):
		graph, err := request.Params{"graph": values.Get("graph")}.Iri("graph")
		return graphTarget{graph: graph, base: graph.Value()}, err
	}
	return graphTarget{store: true}, nil
}

func (a *API) directTarget(r *request.Request) (graphTarget, error) {
	base, err := a.URL.Base(r.Request)
	if err != nil {
		return graphTarget{}, err
	}
	if r.URL.RawQuery != "" {
		return graphTarget{}, problem.Errorf(problem.KindBadRequest, "", "the path names the graph already; ?graph and ?default go with %s itself", graphStorePath)
	}
	iri := base + r.URL.EscapedPath()
	if err := triple.CheckIRI(iri); err != nil {
		return graphTarget{}, problem.Errorf(problem.KindBadRequest, "", "the URL of the request is no IRI for a graph: %v", err)
	}
	return graphTarget{graph: triple.NewIRI(iri), base: iri}, nil
}

// needGraph rejects a request to the graph store itself, if its method needs a graph.
func (t graphTarget) needGraph(r *request.Request) error {
	if !t.store {
		return nil
	}
	e := problem.Errorf(problem.KindMethod, "", "%s takes %s with ?default or ?graph=IRI only; POST without them makes a new graph", graphStorePath, r.Method)
	e.Allow = []string{http.MethodOptions, http.MethodPost}
	return e
}

func (t graphTarget) pattern() triple.Pattern {
	return triple.Pattern{Graph: t.graph, DefaultGraph: t.graph.IsZero()}
}

func (t graphTarget) missing() error {
	return problem.Errorf(problem.KindNotFound, "graph", "there is no graph <%s>: it has no triples", problem.Clip(t.graph.Value()))
}

// GraphSyntaxes are the syntaxes of graphs, the default first. If one can name graphs, the triples
// are still in its default graph.
var GraphSyntaxes = []syntax.Syntax{syntax.Turtle, syntax.NTriples, syntax.TriG, syntax.NQuads}

// answerPrefixes are declared in answers in Turtle and TriG.
var answerPrefixes = map[string]string{
	"rdf": triple.RDF, "xsd": triple.XSD,
	"rdfs": "http://www.w3.org/2000/01/rdf-schema#",
	"owl":  "http://www.w3.org/2002/07/owl#",
}

// getGraph streams a graph of one snapshot. The default graph always exists; another one exists if
// it has triples.
func (a *API) getGraph(w http.ResponseWriter, r *request.Request) error {
	// 1. Find the graph and the syntax.
	t, err := a.targetOf(r)
	if err == nil {
		err = t.needGraph(r)
	}
	if err != nil {
		return err
	}
	s, err := response.SyntaxFor(r, GraphSyntaxes)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Content-Type", s.MediaType())
	h.Set("Cache-Control", "no-cache")
	// 2. HEAD only needs to know if the graph exists.
	if r.Method == http.MethodHead {
		there, err := a.hasGraph(r.Context(), t)
		if err == nil && !there {
			err = t.missing()
		}
		return err
	}
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	return a.streamGraph(w, r, t, s, sn)
}

func (a *API) streamGraph(w http.ResponseWriter, r *request.Request, t graphTarget, s syntax.Syntax, sn store.Reader) error {
	// 1. Write the triples. Graph names are removed, because the document is that of one graph.
	body := response.NewStream(w, r.Request, "")
	defer body.Release()
	out, err := syntax.NewWriter(body, s, answerPrefixes)
	if err != nil {
		return err
	}
	rows := 0
	defer func() { a.Rows.Read.Add(float64(rows)) }()
	for row, err := range sn.Match(r.Context(), t.pattern(), store.ReadOptions{}) {
		if err != nil {
			return err
		}
		one, err := row.Triple()
		if err != nil {
			return err
		}
		one.Graph = triple.Term{}
		rows++
		if err := out.Write(one); err != nil {
			return err
		}
	}
	// 2. If there were no rows, nothing was sent yet, and the answer may still be 404.
	if rows == 0 && !t.graph.IsZero() {
		return t.missing()
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("end the document: %w", err)
	}
	return body.End()
}
