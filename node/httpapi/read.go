// The reading doors: /range, /triples and /count.

package httpapi

import "net/http"

var countParams = append(patternParams[:len(patternParams):len(patternParams)], "estimate")

func (a *API) getRange(w http.ResponseWriter, r *request) error {
	q, err := rangeQuery(r.params)
	if err != nil {
		return err
	}
	return a.answer(w, r, q)
}

func (a *API) getTriples(w http.ResponseWriter, r *request) error {
	q, err := triplesQuery(r.params)
	if err != nil {
		return err
	}
	return a.answer(w, r, q)
}

func (a *API) answer(w http.ResponseWriter, r *request, q *query) error {
	f, err := formatFor(r.Request, q)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	if q.limit > 0 {
		return a.answerPage(w, r, q, f)
	}
	return a.answerStream(w, r, q, f)
}

// count is the answer of /count.
type count struct {
	Count int64 `json:"count"`
	Exact bool  `json:"exact"`
}

func (a *API) getCount(w http.ResponseWriter, r *request) error {
	pattern, err := patternOf(r.params)
	if err != nil {
		return err
	}
	estimate, err := r.params.flag("estimate")
	if err != nil {
		return err
	}
	if negotiate(r.Header.Values("Accept"), []string{typeJSON}) < 0 {
		return notAcceptable([]string{typeJSON})
	}
	sn, err := a.snapshotFor(w)
	if err != nil {
		return err
	}
	defer sn.Close()
	c := count{Exact: true}
	if estimate {
		c.Count, c.Exact, err = sn.Estimate(r.Context(), pattern)
	} else {
		c.Count, err = sn.Count(r.Context(), pattern)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, c)
}
