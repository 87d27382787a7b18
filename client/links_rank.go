// Ranking pages by their links.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// rankQuestion is the body of a request to /links/rank.
type rankQuestion struct {
	UIDs      []*string       `json:"uids"`
	Algorithm links.Algorithm `json:"algorithm,omitempty"`
	A         int             `json:"a"`
	B         int             `json:"b"`
	Mode      string          `json:"mode"`
	Class     string          `json:"class"`
	Seed      uint64          `json:"seed"`
	Weighted  bool            `json:"weighted,omitempty"`
	Top       int             `json:"top"`
	All       bool            `json:"all"`
	As        string          `json:"as"`
}

// rankAnswer is the body of its answer.
type rankAnswer struct {
	Authorities, Hubs       []scoredText
	Vertices, Edges, Rounds int
	Converged               bool
}

type scoredText struct {
	UID   string
	Score float64
}

// maxRankingBytes bounds a ranking.
const maxRankingBytes = 1 << 30

// Rank ranks up to 100,000 pages by the links around them.
func (l *Links) Rank(ctx context.Context, r links.RankRequest) (links.Ranking, error) {
	// 1. Encode the request. null is an unknown page.
	q := rankQuestion{UIDs: texts(r.Pages), Algorithm: r.Algorithm, A: r.In, B: r.Out, Mode: r.Mode.String(),
		Class: r.Class.String(), Seed: r.Seed, Weighted: r.Weighted, Top: r.Top, All: r.All, As: "uids"}
	body, err := json.Marshal(q)
	if err != nil {
		return links.Ranking{}, fmt.Errorf("links: rank: %w", err)
	}
	// 2. Send it, and decode the ranking.
	text, _, err := l.send(ctx, call{method: http.MethodPost, target: l.endpoint("/links/rank", l.query()), body: body,
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}}, maxRankingBytes)
	var answer rankAnswer
	if err == nil {
		err = decodeJSON(text, &answer)
	}
	ranking := links.Ranking{Vertices: answer.Vertices, Edges: answer.Edges, Rounds: answer.Rounds, Converged: answer.Converged}
	if err == nil {
		ranking.Authorities, err = scores(answer.Authorities)
	}
	if err == nil {
		ranking.Hubs, err = scores(answer.Hubs)
	}
	if err != nil {
		return links.Ranking{}, linksError("rank", err)
	}
	return ranking, nil
}

func scores(texts []scoredText) ([]rank.Scored, error) {
	all := make([]rank.Scored, len(texts))
	for i, text := range texts {
		u, err := uid.Parse(text.UID)
		if err != nil {
			return nil, fmt.Errorf("the answer is not a node's: %w", err)
		}
		all[i] = rank.Scored{UID: u, Score: text.Score}
	}
	return all, nil
}

// StartPageRank begins a job. It sends the request again only if the node answered that
// the job did not begin. If the connection breaks, PageRank shows if a job runs.
func (l *Links) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("links: pagerank: %w", err)
	}
	what := call{method: http.MethodPost, target: l.endpoint("/links/pagerank", nil), body: body,
		header: http.Header{"Content-Type": {"application/json"}}}
	return linksError("pagerank", l.retry(ctx, func() error {
		answer, err := l.try(ctx, what, bytes.NewReader(body))
		if err == nil {
			return answer.Body.Close()
		}
		var e *Error
		if errors.As(err, &e) && (e.Kind == "loading" || errors.Is(err, ErrBusy)) {
			return err
		}
		return &permanent{err}
	}))
}

// PageRank returns the state of the last job; links.ErrNoJob if there was none.
func (l *Links) PageRank(ctx context.Context) (job links.PageRankJob, err error) {
	err = l.sendEmpty(ctx, http.MethodGet, "pagerank", &job)
	return job, err
}

// StopPageRank ends the running job.
func (l *Links) StopPageRank(ctx context.Context) error {
	return l.sendEmpty(ctx, http.MethodDelete, "pagerank", nil)
}
