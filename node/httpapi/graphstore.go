// The door /data: the SPARQL 1.1 Graph Store HTTP Protocol
// (https://www.w3.org/TR/sparql11-http-rdf-update/). This file: which graph a
// request names (section 4), and reading it (5.2, 5.6).

package httpapi

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const graphStorePath = "/data"

// graphStoreDoors are the doors of the Graph Store Protocol.
func (a *API) graphStoreDoors() map[string]*door {
	write := func(body bool, handle func(http.ResponseWriter, *request) error) *method {
		return &method{ownParams: true, writes: true, body: body, handle: handle}
	}
	return map[string]*door{
		graphStorePath: {below: true, methods: map[string]*method{
			http.MethodGet:    {ownParams: true, handle: a.getGraph},
			http.MethodPut:    write(true, a.putGraph),
			http.MethodPost:   write(true, a.postGraph),
			http.MethodDelete: write(false, a.deleteGraph),
		}},
	}
}

// graphTarget is what a request to /data is about.
type graphTarget struct {
	// store: no graph, but the graph store itself.
	store bool
	// graph is an IRI, or the zero Term for the default graph.
	graph triple.Term
	// base is what relative IRIs of a document are resolved against: the graph's
	// IRI or, of the default graph, the URL that stands for it; "" where the request
	// does not tell it.
	base string
}

// targetOf reads which graph a request names: by ?graph=IRI or ?default
// (indirect identification, section 4.2), or by its own URL below /data (direct,
// 4.1). Percent-encoding of a path stays as it was sent: it is part of the IRI.
func (a *API) targetOf(r *request) (graphTarget, error) {
	if r.URL.Path != graphStorePath {
		return a.directTarget(r)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return graphTarget{}, errorf(KindBadRequest, "", "malformed query: %v", err)
	}
	for name, all := range values {
		if name != "graph" && name != "default" {
			return graphTarget{}, unknownParameter(name, []string{"graph", "default"})
		}
		if len(all) > 1 {
			return graphTarget{}, errorf(KindBadParameter, name, "given %d times; give it once", len(all))
		}
	}
	switch {
	case values.Has("graph") && values.Has("default"):
		return graphTarget{}, errorf(KindBadRequest, "", "both graph and default; a request is about one graph")
	case values.Get("default") != "":
		return graphTarget{}, errorf(KindBadParameter, "default", "takes no value: ?default")
	case values.Has("default"):
		t := graphTarget{}
		if base, err := a.baseURL(r.Request); err == nil {
			t.base = base + graphStorePath + "?default"
		}
		return t, nil
	case values.Has("graph"):
		graph, err := params{"graph": values.Get("graph")}.iri("graph")
		return graphTarget{graph: graph, base: graph.Value()}, err
	}
	return graphTarget{store: true}, nil
}

func (a *API) directTarget(r *request) (graphTarget, error) {
	base, err := a.baseURL(r.Request)
	if err != nil {
		return graphTarget{}, err
	}
	if r.URL.Path == graphStorePath+"/" {
		return graphTarget{}, errorf(KindNotFound, r.URL.Path, "there is no graph without a name; the graph store is %s", graphStorePath)
	}
	if r.URL.RawQuery != "" {
		return graphTarget{}, errorf(KindBadRequest, "", "the path names the graph already; ?graph and ?default go with %s itself", graphStorePath)
	}
	iri := base + r.URL.EscapedPath()
	if err := triple.CheckIRI(iri); err != nil {
		return graphTarget{}, errorf(KindBadRequest, "", "the URL of the request is no IRI for a graph: %v", err)
	}
	return graphTarget{graph: triple.NewIRI(iri), base: iri}, nil
}

// needGraph refuses a request about the graph store that only graphs answer.
func (t graphTarget) needGraph(r *request) error {
	if !t.store {
		return nil
	}
	e := errorf(KindMethod, "", "%s takes %s with ?default or ?graph=IRI only; POST without them makes a new graph", graphStorePath, r.Method)
	e.allow = []string{http.MethodOptions, http.MethodPost}
	return e
}

func (t graphTarget) pattern() triple.Pattern {
	return triple.Pattern{Graph: t.graph, DefaultGraph: t.graph.IsZero()}
}

func (t graphTarget) missing() error {
	return errorf(KindNotFound, "graph", "there is no graph <%s>: it has no triples", clip(t.graph.Value()))
}

// graphSyntaxes are what a graph is answered in, the default first. Those with
// names for graphs have its triples in their default graph.
var graphSyntaxes = []syntax.Syntax{syntax.Turtle, syntax.NTriples, syntax.TriG, syntax.NQuads}

// answerPrefixes are those that Turtle and TriG answers declare.
var answerPrefixes = map[string]string{
	"rdf": triple.RDF, "xsd": triple.XSD,
	"rdfs": "http://www.w3.org/2000/01/rdf-schema#",
	"owl":  "http://www.w3.org/2002/07/owl#",
}

// syntaxFor returns which of the syntaxes a request prefers for its answer.
func syntaxFor(r *request, syntaxes []syntax.Syntax) (syntax.Syntax, error) {
	offers := make([]string, len(syntaxes))
	for i, s := range syntaxes {
		offers[i] = s.MediaType()
	}
	i := negotiate(r.Header.Values("Accept"), offers)
	if i < 0 {
		return 0, notAcceptable(offers)
	}
	return syntaxes[i], nil
}

// getGraph streams a graph of one snapshot. The default graph is always there,
// another one while it has triples.
func (a *API) getGraph(w http.ResponseWriter, r *request) error {
	t, err := a.targetOf(r)
	if err == nil {
		err = t.needGraph(r)
	}
	if err != nil {
		return err
	}
	s, err := syntaxFor(r, graphSyntaxes)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Content-Type", s.MediaType())
	h.Set("Cache-Control", "no-cache")
	if r.Method == http.MethodHead {
		there, err := a.hasGraph(r.Context(), t)
		if err == nil && !there {
			err = t.missing()
		}
		return err
	}
	sn, err := a.snapshotFor(w)
	if err != nil {
		return err
	}
	defer sn.Close()
	return a.streamGraph(w, r, t, s, sn)
}

func (a *API) streamGraph(w http.ResponseWriter, r *request, t graphTarget, s syntax.Syntax, sn Snapshot) error {
	body := &heldBody{w: w, proto11: r.ProtoAtLeast(1, 1)}
	out, err := syntax.NewWriter(body, s, answerPrefixes)
	if err != nil {
		return err
	}
	rows := 0
	defer func() { a.metrics.rowsRead.Add(float64(rows)) }()
	for row, err := range sn.Match(r.Context(), t.pattern(), node.ReadOptions{}) {
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
	if rows == 0 && !t.graph.IsZero() {
		return t.missing()
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("end the document: %w", err)
	}
	return body.end()
}
