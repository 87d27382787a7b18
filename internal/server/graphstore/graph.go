// The graph of a request (section 4), and GET and HEAD of it (5.2, 5.6).

package graphstore

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
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
		return &endpoint.Method{Params: params, OwnParams: true, Writes: true, Body: body, Handle: handle}
	}
	return endpoint.Table{
		graphStorePath: {Below: true, Methods: map[string]*endpoint.Method{
			http.MethodGet:    {Params: params, OwnParams: true, Handle: a.getGraph, Shown: shown},
			http.MethodPut:    write(true, a.putGraph),
			http.MethodPost:   write(true, a.postGraph),
			http.MethodDelete: write(false, a.deleteGraph),
		}},
	}
}

// params are the parameters that name a graph.
var params = []string{"graph", "default"}

// shown returns the query for the triples of a graph.
func shown(params url.Values) string {
	graph := strings.Trim(params.Get("graph"), "<>")
	switch {
	case params.Has("default"):
		return "SELECT * WHERE {\n  ?s ?p ?o .\n}\nLIMIT 50"
	case triple.CheckIRI(graph) == nil:
		return "SELECT * WHERE {\n  GRAPH <" + graph + "> { ?s ?p ?o }\n}\nLIMIT 50"
	}
	return "SELECT * WHERE {\n  { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } }\n}\nLIMIT 50"
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
		if !slices.Contains(params, name) {
			return graphTarget{}, request.UnknownParameter(name, params)
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
	e := problem.Errorf(problem.KindMethod, "", "%s takes %s with ?default or ?graph=IRI only; PUT of TriG, N-Quads or JSON-LD without them replaces all graphs, POST of another syntax makes a new graph", graphStorePath, r.Method)
	e.Allow = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut}
	return e
}

func (t graphTarget) pattern() triple.Pattern {
	return triple.Pattern{Graph: t.graph, DefaultGraph: t.graph.IsZero()}
}

// rows yields the rows of the target. Of the whole store those of the default graph come first, then
// those of each other graph together.
func (t graphTarget) rows(r *request.Request, sn store.Reader) iter.Seq2[store.Row, error] {
	one := sn.Match(r.Context(), t.pattern(), store.ReadOptions{})
	if !t.store {
		return one
	}
	return func(yield func(store.Row, error) bool) {
		for row, err := range one {
			if !yield(row, err) || err != nil {
				return
			}
		}
		for row, err := range sn.Range(r.Context(), triple.Bounds{Order: triple.GSPO}, store.ReadOptions{}) {
			if !yield(row, err) {
				return
			}
		}
	}
}

func (t graphTarget) missing() error {
	return problem.Errorf(problem.KindNotFound, "graph", "there is no graph <%s>: it has no triples", problem.Clip(t.graph.Value()))
}

// GraphSyntaxes are the syntaxes of graphs, the default first. If one can name graphs, the triples
// are still in its default graph.
var GraphSyntaxes = []syntax.Syntax{syntax.Turtle, syntax.NTriples, syntax.TriG, syntax.NQuads, syntax.RDFXML, syntax.JSONLD}

// DatasetSyntaxes are the syntaxes of all graphs together, the default first.
var DatasetSyntaxes = []syntax.Syntax{syntax.TriG, syntax.NQuads, syntax.JSONLD}

// getGraph streams a graph, or all graphs, of one snapshot. The default graph always exists; another
// one exists if it has triples.
func (a *API) getGraph(w http.ResponseWriter, r *request.Request) error {
	// 1. Find the graph and the syntax.
	t, err := a.targetOf(r)
	if err != nil {
		return err
	}
	syntaxes := GraphSyntaxes
	if t.store {
		syntaxes = DatasetSyntaxes
	}
	s, err := response.SyntaxFor(r, syntaxes)
	if err != nil {
		return err
	}
	version, err := response.VersionOf(r.Header.Values("Accept"), s.MediaType())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Content-Type", version.Announce(s.MediaType()))
	h.Set("Cache-Control", "no-cache")
	tag, err := a.Tag(r, version.Announce(s.MediaType()))
	if err != nil {
		return err
	}
	// 2. HEAD only needs to know if the graph exists.
	if r.Method == http.MethodHead {
		there, err := a.hasGraph(r.Context(), t)
		if err == nil && !there {
			err = t.missing()
		}
		if err == nil && tag != "" {
			response.NotModified(w, r.Request, tag)
		}
		return err
	}
	// "*" would be met by any graph that exists, which is not known yet.
	if tag != "" && r.Header.Get("If-None-Match") != "*" && response.NotModified(w, r.Request, tag) {
		return nil
	}
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	return a.streamGraph(w, r, t, s, version, sn)
}

func (a *API) streamGraph(w http.ResponseWriter, r *request.Request, t graphTarget, s syntax.Syntax, version response.Version, sn store.Reader) error {
	// 1. Write the triples. Graph names are removed if the document is that of one graph.
	body := response.NewStream(w, r.Request, "")
	defer body.Release()
	names, err := a.Prefixes(r.Context(), s, nil)
	if err != nil {
		return err
	}
	out, err := syntax.NewWriter(body, s, names)
	if err != nil {
		return err
	}
	rows := 0
	defer func() { a.Rows.Read.Add(float64(rows)) }()
	for row, err := range t.rows(r, sn) {
		if err != nil {
			return err
		}
		one, err := row.Triple()
		if err != nil {
			return err
		}
		if !t.store {
			one.Graph = triple.Term{}
		}
		rows++
		if err := version.Check(one.Object); err != nil {
			return err
		}
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
