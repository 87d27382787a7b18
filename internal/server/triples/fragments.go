// The endpoint /fragments: Triple Pattern Fragments and their extension to quads
// (https://linkeddatafragments.org/specification/triple-pattern-fragments/ and
// .../quad-pattern-fragments/). A fragment holds the matches of one pattern, in pages. Each page
// contains the total, the link to the next page, and a form for other patterns.
//
// The dataset is the whole store. If the parameter graph is missing, a pattern matches in all
// graphs. An answer without graph names then has each triple once. The IRI urn:ldf:defaultGraph,
// declared in the metadata, selects the default graph.
//
// A pattern cannot name a blank node. So answers replace blank nodes by IRIs (RDF 1.1 Concepts,
// section 3.5) under /.well-known/genid/ of the node. If a pattern contains such an IRI, it matches
// the blank node.

package triples

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

const (
	FragmentsPath = "/fragments"
	// FragmentItems is the number of items on a page if the request has no limit.
	FragmentItems = 100
)

var fragmentsParams = []string{"subject", "predicate", "object", "graph", "limit", "cursor"}

// FragmentSyntaxes are the syntaxes of fragments. The default is first and keeps graph names.
var FragmentSyntaxes = []syntax.Syntax{syntax.TriG, syntax.NQuads, syntax.Turtle, syntax.NTriples, syntax.JSONLD, syntax.RDFXML}

func (a *API) getFragment(w http.ResponseWriter, r *request.Request) error {
	// 1. Parse the pattern and choose the syntax.
	base, err := a.URL.Base(r.Request)
	if err != nil {
		return err
	}
	p, err := fragmentParams(r.URL.RawQuery)
	if err != nil {
		return err
	}
	f := &fragment{genid: request.OriginOf(base) + genidPath, most: a.PageBytes}
	if err := f.parsePattern(p); err != nil {
		return err
	}
	s, err := response.SyntaxFor(r, FragmentSyntaxes)
	if err != nil {
		return err
	}
	// 2. Read the page. If the syntax cannot write graph names, a triple of several graphs must
	// appear once.
	f.merged = !s.HasGraphs() && f.query.pattern.Graph.IsZero()
	body := response.NewPagedBody(a.Account(r))
	defer body.Release()
	if err := a.readFragment(w, r, f, body.Account); err != nil {
		return err
	}
	// 3. Write it whole, because its tag is in the header.
	if err := f.write(body, s, newPageLinks(base, r.URL, f)); err != nil {
		return err
	}
	return sendFragment(w, r, s, body)
}

func (a *API) readFragment(w http.ResponseWriter, r *request.Request, f *fragment, account *limits.Account) error {
	if f.nothing {
		return nil
	}
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	err = f.read(r.Context(), sn, account)
	a.Rows.Read.Add(float64(len(f.triples)))
	return err
}

// sendFragment answers with a page. If the client has the same page, by its tag, the answer is 304.
func sendFragment(w http.ResponseWriter, r *request.Request, s syntax.Syntax, p *response.PagedBody) error {
	h := w.Header()
	h.Add("Vary", "Accept")
	if response.NotModified(w, r.Request, p.Tag()) {
		return nil
	}
	h.Set("Content-Type", s.MediaType())
	h.Set("Content-Length", strconv.Itoa(p.Bytes))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return p.SendTo(w)
}

// fragmentParams reads the query of a request. Unlike other endpoints this one ignores empty
// values, because forms send them.
func fragmentParams(rawQuery string) (request.Params, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, problem.Errorf(problem.KindBadRequest, "", "malformed query: %v", err)
	}
	for name, all := range values {
		if len(all) == 1 && all[0] == "" {
			delete(values, name)
		}
	}
	return request.ParseParams(values.Encode(), fragmentsParams)
}
