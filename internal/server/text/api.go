// GET /search, and GET, PUT and DELETE /text.

package text

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// MaxHits is the most hits of an answer, and defaultHits without a limit.
	MaxHits     = 1000
	defaultHits = 10
	// maxSubjects is the most subjects of each hit.
	maxSubjects = 100
	// buildingRetry is the time in seconds until a client may try again while the index is being built.
	buildingRetry = 2
	// hitBytes are counted for a hit beside its literal.
	hitBytes = 1 << 10
)

// API answers for one index.
type API struct {
	*endpoint.Shared
	index *textsearch.Index
	hits  prometheus.Counter
}

// New returns the endpoints of an index, and registers their metrics.
func New(s *endpoint.Shared, index *textsearch.Index, registry *prometheus.Registry) (*API, error) {
	a := &API{Shared: s, index: index, hits: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "trefoil_text_hits_total", Help: "Literals in answers of /search.",
	})}
	if err := errors.Join(registry.Register(a.hits), registry.Register(index)); err != nil {
		return nil, fmt.Errorf("register metrics of text search: %w", err)
	}
	return a, nil
}

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	return endpoint.Table{
		"/search": endpoint.Get(withTextErrors(a.search), "q", "p", "lang", "limit", "scan", "subjects", "brief"),
		"/text": {Methods: map[string]*endpoint.Method{
			http.MethodGet:    {Handle: withTextErrors(a.list)},
			http.MethodPut:    {Params: []string{"p", "trigrams"}, Writes: true, Handle: withTextErrors(a.add)},
			http.MethodDelete: {Params: []string{"p"}, Writes: true, Handle: withTextErrors(a.remove)},
		}},
	}
}

// noLanguage is the value of lang for literals without a tag. It is no language of the registry of subtags.
const noLanguage = "none"

// answerOptions are what a request wants of each hit, and of how many.
type answerOptions struct {
	limit, subjects int
	brief           bool // without whole texts
}

// query returns the search of a request, and what its answer has.
func query(p request.Params) (r textsearch.Request, o answerOptions, err error) {
	// 1. The query and its filters.
	if r.Query = p["q"]; r.Query == "" {
		return r, o, problem.Errorf(problem.KindBadParameter, "q", `is missing: the words to search for, as in q=graph AND (store OR database) -relational`)
	}
	predicate, err := p.Predicate("p")
	if err != nil {
		return r, o, err
	}
	if !predicate.IsZero() {
		r.Predicates = []string{predicate.Value()}
	}
	if p.Has("lang") {
		lang := p["lang"]
		if lang == noLanguage {
			lang = ""
		}
		r.Language = &lang
	}
	if r.Scan, err = p.Flag("scan"); err != nil {
		return r, o, err
	}
	// 2. The answer.
	if o.brief, err = p.Flag("brief"); err != nil {
		return r, o, err
	}
	if o.limit, err = p.Number("limit", 1); err != nil {
		return r, o, err
	}
	if o.limit == 0 {
		o.limit = defaultHits
	}
	if o.limit > MaxHits {
		return r, o, problem.Errorf(problem.KindBadParameter, "limit", "%d; at most %d hits are in an answer: SPARQL's text:matches has all", o.limit, MaxHits)
	}
	if o.subjects, err = p.Number("subjects", 0); err == nil && o.subjects > maxSubjects {
		err = problem.Errorf(problem.KindBadParameter, "subjects", "%d; at most %d of each hit are in an answer", o.subjects, maxSubjects)
	}
	return r, o, err
}

func (a *API) search(w http.ResponseWriter, r *request.Request) error {
	// 1. Search, for one hit more.
	q, o, err := query(r.Params)
	if err != nil {
		return err
	}
	account := a.Account(r)
	defer account.Release()
	if graphrights.FromContext(r.Context()) != nil {
		q.Reader = func() (store.Reader, error) { return a.reader(r.Context()) }
	}
	s, err := a.index.Search(r.Context(), q)
	if err != nil {
		return err
	}
	if err := account.Grow(s.ScannedBytes()); err != nil {
		return err
	}
	// 2. Make the answer, a page at a time.
	answer := api.SearchResult{Hits: []api.SearchHit{}}
	for !answer.More {
		hits, err := s.Next(r.Context(), o.limit+1-len(answer.Hits))
		if err != nil {
			return err
		}
		if len(hits) == 0 {
			break
		}
		for i := range hits {
			if answer.More = len(answer.Hits) == o.limit; answer.More {
				break
			}
			one, err := a.hitOf(r.Context(), s, &hits[i], o)
			if err != nil {
				return err
			}
			if err := account.Grow(int64(3*len(one.Text) + 3*len(one.Snippet) + hitBytes)); err != nil {
				return err
			}
			answer.Hits = append(answer.Hits, one)
		}
	}
	a.hits.Add(float64(len(answer.Hits)))
	return response.WriteJSON(w, answer)
}

// hitOf returns a hit as it stands in an answer.
func (a *API) hitOf(ctx context.Context, s *textsearch.Search, h *textsearch.Hit, o answerOptions) (one api.SearchHit, err error) {
	if err := ctx.Err(); err != nil {
		return one, err // a snippet of a long literal takes time
	}
	one = api.SearchHit{Score: h.Score, Lang: h.Literal.Lang(), Predicates: h.Predicates, Snippet: s.Snippet(h)}
	if !o.brief {
		one.Text = h.Literal.Value()
	}
	if one.Lang == "" && h.Literal.Datatype() != triple.XSDString {
		one.Datatype = h.Literal.Datatype()
	}
	one.Subjects, err = a.subjects(ctx, h, o.subjects)
	return one, err
}

// reader returns a reader of the graphs that the user may read.
func (a *API) reader(ctx context.Context) (store.Reader, error) {
	reader, err := a.Store.Reader()
	if err != nil {
		return nil, err
	}
	return graphrights.Filter(ctx, reader), nil
}

// subjects returns the first subjects of a hit.
func (a *API) subjects(ctx context.Context, h *textsearch.Hit, limit int) (list []string, err error) {
	if limit == 0 {
		return nil, nil
	}
	reader, err := a.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for _, p := range h.Predicates {
		pattern := triple.Pattern{Predicate: triple.NewIRI(p), Object: h.Literal}
		// Rows of one subject in several graphs are neighbours, but another predicate may repeat it.
		for row, err := range reader.Match(ctx, pattern, store.ReadOptions{}) {
			if err != nil {
				return nil, err
			}
			t, err := row.Triple()
			if err != nil {
				return nil, err
			}
			if s := t.Subject.String(); !slices.Contains(list, s) {
				list = append(list, s)
			}
			if len(list) == limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// name is an indexed predicate without counts.
type name struct {
	Predicate string `json:"predicate"`
	Complete  bool   `json:"complete"`
}

func (a *API) list(w http.ResponseWriter, r *request.Request) error {
	list, err := a.index.Status(r.Context())
	if err != nil {
		return err
	}
	// Counts and problems are of all graphs. A user with some graphs only gets the names.
	if graphrights.FromContext(r.Context()) != nil {
		names := make([]name, len(list))
		for i := range list {
			names[i] = name{list[i].Predicate, list[i].Complete}
		}
		return response.WriteJSON(w, map[string][]name{"predicates": names})
	}
	answer := api.TextStatus{Predicates: list}
	if err := a.index.Failure(); err != nil {
		answer.Problem = err.Error()
	}
	return response.WriteJSON(w, answer)
}

// changed is the answer of PUT and DELETE.
type changed struct {
	Predicate string `json:"predicate"`
}

func (a *API) add(w http.ResponseWriter, r *request.Request) error {
	trigrams, err := r.Params.Flag("trigrams")
	if err != nil {
		return err
	}
	if trigrams {
		return a.change(w, r, a.index.AddTrigrams)
	}
	return a.change(w, r, a.index.Add)
}

func (a *API) remove(w http.ResponseWriter, r *request.Request) error {
	return a.change(w, r, a.index.Remove)
}

func (a *API) change(w http.ResponseWriter, r *request.Request, do func(context.Context, string) error) error {
	predicate, err := r.Params.Predicate("p")
	if err != nil {
		return err
	}
	if predicate.Kind() != triple.IRI {
		return problem.Errorf(problem.KindBadParameter, "p", "is missing, or no IRI: the predicate whose literals are indexed")
	}
	if err := do(r.Context(), predicate.Value()); err != nil {
		return err
	}
	return response.WriteJSON(w, changed{predicate.Value()})
}

// withTextErrors makes a handler return errors of an index in the form for clients.
func withTextErrors(handle endpoint.Handler) endpoint.Handler {
	return func(w http.ResponseWriter, r *request.Request) error { return textError(handle(w, r)) }
}

func textError(err error) error {
	var e *problem.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	e = &problem.Error{Message: err.Error(), Cause: err}
	switch {
	case errors.Is(err, textindex.ErrQuery):
		e.Kind, e.Where = problem.KindBadParameter, "q"
	case errors.Is(err, textsearch.ErrNotIndexed):
		e.Kind = problem.KindNotIndexed
	case errors.Is(err, textsearch.ErrBuilding):
		e.Kind, e.RetryAfter = problem.KindLoading, buildingRetry
	case errors.Is(err, textsearch.ErrTooSlow):
		e.Kind = problem.KindQueryLimit
	case errors.Is(err, textsearch.ErrTooLarge):
		e.Kind = problem.KindTextMemory
	case errors.Is(err, textsearch.ErrInvalid):
		e.Kind, e.Where = problem.KindBadParameter, "p"
	case errors.Is(err, store.ErrNotFound):
		e.Kind = problem.KindNotFound
	default:
		return err
	}
	return e
}
