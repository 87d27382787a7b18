// Rankings, and the job of PageRank.

package links

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// vertexBytes is about the memory of a page of a neighbourhood graph, with its links.
const vertexBytes = 256

// postRank ranks a result set.
func (l *API) postRank(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "rank", rankTakes)
	if err != nil {
		return err
	}
	defer c.end()
	// 1. Bound the graph before it is built: each root may add a and b neighbours. PageRank adds
	// none.
	a := c.query
	roots := int64(len(a.uids) + len(a.urls))
	around := 1 + int64(a.in) + int64(a.out)
	if a.algorithm == links.PageRank {
		around = 1
	}
	// The product has at most twice 31 bits and 17, so it does not overflow.
	if need := roots * around; need > c.Memory.Max/vertexBytes {
		return problem.Errorf(problem.KindTooLarge, "", "%d pages with up to %d others around each are more than this node's memory for requests takes (%d pages); ask for less",
			roots, around-1, c.Memory.Max/vertexBytes)
	}
	if err := c.account.Grow(roots * around * vertexBytes); err != nil {
		return err
	}
	// 2. Rank, and check that the graph stayed at its epoch.
	pages, err := c.pages()
	if err != nil {
		return err
	}
	ranking, err := c.rank(links.RankRequest{Algorithm: a.algorithm, Pages: pages, In: a.in, Out: a.out,
		Mode: a.sample.Mode, Class: a.sample.Class, Seed: a.sample.Seed, Weighted: a.weighted, Top: a.top, All: a.all})
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return err
	}
	return c.writeRanking(ranking)
}

// writeRanking answers with scores, and with URLs unless the request wants UIDs only.
func (c *linksCall) writeRanking(ranking links.Ranking) error {
	// 1. The scores of authorities, then those of hubs if the algorithm has them.
	c.w.Header().Set("Content-Type", response.JSON)
	held := response.NewStream(c.w, c.r.Request, "")
	defer held.Release()
	out := newJSONAnswer(held, "authorities")
	if err := c.writeScores(out, ranking.Authorities); err != nil {
		return err
	}
	if len(ranking.Hubs) > 0 {
		out.b = append(out.b, `],"hubs":[`...)
		out.comma = false
		if err := c.writeScores(out, ranking.Hubs); err != nil {
			return err
		}
	}
	// 2. The figures of the ranking end the object.
	tail, err := json.Marshal(struct {
		Vertices  int  `json:"vertices"`
		Edges     int  `json:"edges"`
		Rounds    int  `json:"rounds"`
		Converged bool `json:"converged"`
	}{ranking.Vertices, ranking.Edges, ranking.Rounds, ranking.Converged})
	if err != nil {
		return err
	}
	out.tail = "," + string(tail[1:])
	if err := out.Close(); err != nil {
		return err
	}
	return held.End()
}

func (c *linksCall) writeScores(out *jsonAnswer, scores []rank.Scored) error {
	// 1. Find the URLs, if they are wanted.
	named := c.query.asURLs || !c.query.asSaid
	var urls *urlCursor
	if named {
		pages := make([]uid.UID, len(scores))
		for i, s := range scores {
			pages[i] = s.UID
		}
		urls = c.urlsOf(c.graph, pages)
		defer urls.account.Release()
	}
	// 2. Write a score at a time. URLs are read in batches meanwhile.
	for _, s := range scores {
		out.next()
		out.b = append(out.b, `{"uid":`...)
		out.uid(s.UID)
		if named {
			url, err := urls.next()
			if err != nil {
				return err
			}
			out.b = append(out.b, `,"url":`...)
			out.url(url)
		}
		out.b = append(out.b, `,"score":`...)
		out.number(s.Score)
		out.b = append(out.b, '}')
	}
	return out.err
}

// maxOptionBytes is the most bytes of options in a body.
const maxOptionBytes = 4 << 10

// readOptions reads options from a body of JSON. An empty body changes nothing. Unknown fields are an
// error, because a typing error must not change a long job.
func readOptions(r *request.Request, options any) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxOptionBytes+1))
	if err != nil {
		return request.BodyError(err)
	}
	if len(text) > maxOptionBytes {
		return problem.Errorf(problem.KindTooLarge, request.BodyName, "more than %d bytes of options", maxOptionBytes)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(options); err != nil {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, "%s", problem.ClipAt(err.Error(), 200))
	}
	if _, err := in.Token(); err != io.EOF {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, "something follows the object")
	}
	return nil
}

// postPageRank begins a job, and answers with its state.
func (l *API) postPageRank(w http.ResponseWriter, r *request.Request) error {
	var o links.PageRankOptions
	if err := readOptions(r, &o); err != nil {
		return err
	}
	// If the job stores its result, the request must be allowed to change data.
	if o.Store {
		if err := l.Changes.Check(r.Request); err != nil {
			return err
		}
	}
	if err := l.graph.StartPageRank(r.Context(), o); err != nil {
		return err
	}
	return l.getPageRank(w, r)
}

// getPageRank answers with the state of the job.
func (l *API) getPageRank(w http.ResponseWriter, r *request.Request) error {
	job, err := l.graph.PageRank(r.Context())
	if err != nil {
		return err
	}
	if job.Epoch != 0 {
		w.Header().Set(EpochHeader, strconv.FormatUint(job.Epoch, 10))
	}
	return response.WriteJSON(w, job)
}

func (l *API) deletePageRank(w http.ResponseWriter, r *request.Request) error {
	if err := l.graph.StopPageRank(r.Context()); err != nil {
		return err
	}
	return l.getPageRank(w, r)
}
