// The door /fragments: Triple Pattern Fragments and their extension to quads
// (https://linkeddatafragments.org/specification/triple-pattern-fragments/ and
// .../quad-pattern-fragments/). A fragment is what matches one pattern, in pages
// that say how much there is, where the next page is, and how to ask for others.
//
// The dataset is the whole store. Without graph a pattern matches in all graphs,
// and an answer without names of graphs has each triple once; the IRI
// urn:ldf:defaultGraph, which the metadata declares, asks for the default graph.
//
// A pattern cannot name a blank node. So answers name them by IRIs (RDF 1.1
// Concepts, section 3.5) under /.well-known/genid/ of the node, and patterns
// take these for the blank nodes that they stand for.

package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/rdfload/syntax"
)

const (
	fragmentsPath = "/fragments"
	// fragmentItems is how many items a page has where the request does not say.
	fragmentItems = 100
)

var fragmentsParams = []string{"subject", "predicate", "object", "graph", "limit", "cursor"}

// fragmentSyntaxes are what a fragment is answered in, the default first: one
// that keeps the names of graphs.
var fragmentSyntaxes = []syntax.Syntax{syntax.TriG, syntax.NQuads, syntax.Turtle, syntax.NTriples}

// fragmentsDoors are the doors of fragments.
func (a *API) fragmentsDoors() map[string]*door {
	return map[string]*door{
		fragmentsPath: {methods: map[string]*method{http.MethodGet: {ownParams: true, handle: a.getFragment}}},
	}
}

func (a *API) getFragment(w http.ResponseWriter, r *request) error {
	base, err := a.baseURL(r.Request)
	if err != nil {
		return err
	}
	p, err := fragmentParams(r.URL.RawQuery)
	if err != nil {
		return err
	}
	f := &fragment{genid: originOf(base) + genidPath, most: a.pageBytes}
	if err := f.ask(p); err != nil {
		return err
	}
	s, err := syntaxFor(r, fragmentSyntaxes)
	if err != nil {
		return err
	}
	f.merged = !s.HasGraphs() && f.query.pattern.Graph.IsZero()
	body := &page{account: account{budget: &a.memory, client: clientOf(r.Request)}}
	defer body.release()
	if err := a.readFragment(w, r, f, &body.account); err != nil {
		return err
	}
	if err := f.write(body, s, newLinks(base, r.URL, f)); err != nil {
		return err
	}
	return sendFragment(w, r, s, body)
}

func (a *API) readFragment(w http.ResponseWriter, r *request, f *fragment, account *account) error {
	if f.nothing {
		return nil
	}
	sn, err := a.snapshotFor(w)
	if err != nil {
		return err
	}
	defer sn.Close()
	err = f.read(r.Context(), sn, account)
	a.metrics.rowsRead.Add(float64(len(f.triples)))
	return err
}

// sendFragment answers with a page. Its tag lets a client that has the page ask
// whether it is still right.
func sendFragment(w http.ResponseWriter, r *request, s syntax.Syntax, p *page) error {
	sum := xxhash.New()
	for _, chunk := range p.chunks {
		_, _ = sum.Write(*chunk) // never fails
	}
	tag := fmt.Sprintf(`"%016x"`, sum.Sum64())
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", tag)
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", s.MediaType())
	h.Set("Content-Length", strconv.Itoa(p.bytes))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	for _, chunk := range p.chunks {
		if _, err := w.Write(*chunk); err != nil {
			return err
		}
	}
	return nil
}

// hasTag reports whether an If-None-Match header names a tag (RFC 9110, section
// 13.1.2).
func hasTag(headers []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}

// fragmentParams reads the query of a request. Unlike other doors this one takes
// empty values, as forms send them, for what is not asked.
func fragmentParams(rawQuery string) (params, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, errorf(KindBadRequest, "", "malformed query: %v", err)
	}
	for name, all := range values {
		if len(all) == 1 && all[0] == "" {
			delete(values, name)
		}
	}
	return parseParams(values.Encode(), fragmentsParams)
}
