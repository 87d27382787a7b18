// The doors to rankings, and those that load and stop.

package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// vertexBytes is about what a page of a neighbourhood graph takes, with its links.
const vertexBytes = 256

// postRank ranks a result set.
func (l *linksDoors) postRank(w http.ResponseWriter, r *request) error {
	c, err := l.beginCall(w, r, "rank", rankTakes)
	if err != nil {
		return err
	}
	defer c.end()
	a := c.asked
	roots := int64(len(a.uids) + len(a.urls))
	around := 1 + int64(a.in) + int64(a.out)
	if a.algorithm == links.PageRank {
		around = 1
	}
	// Twice 31 bits and 17: no overflow.
	if need := roots * around; need > c.options.MemoryBytes/vertexBytes {
		return errorf(KindTooLarge, "", "%d pages with up to %d others around each are more than this node's memory for requests takes (%d pages); ask for less",
			roots, around-1, c.options.MemoryBytes/vertexBytes)
	}
	if err := c.account.grow(roots * around * vertexBytes); err != nil {
		return err
	}
	pages, err := c.pages()
	if err != nil {
		return err
	}
	ranking, err := c.graph.Rank(c.ctx, links.RankRequest{Algorithm: a.algorithm, Pages: pages, In: a.in, Out: a.out,
		Mode: a.sample.Mode, Class: a.sample.Class, Seed: a.sample.Seed, Top: a.top, All: a.all})
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return err
	}
	return c.writeRanking(ranking)
}

// writeRanking answers with scores, and URLs unless only UIDs are wanted.
func (c *linksCall) writeRanking(ranking links.Ranking) error {
	c.w.Header().Set("Content-Type", typeJSON)
	held := &heldBody{w: c.w, proto11: c.r.ProtoAtLeast(1, 1)}
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
	return held.end()
}

func (c *linksCall) writeScores(out *jsonAnswer, scores []rank.Scored) error {
	named := c.asked.asURLs || !c.asked.asSaid
	var urls *urlCursor
	if named {
		pages := make([]uid.UID, len(scores))
		for i, s := range scores {
			pages[i] = s.UID
		}
		urls = c.urlsOf(pages)
		defer urls.account.release()
	}
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

// maxOptionBytes is the most that a job's options take.
const maxOptionBytes = 4 << 10

// postPageRank begins a job, and answers with how it stands.
func (l *linksDoors) postPageRank(w http.ResponseWriter, r *request) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxOptionBytes+1))
	if err != nil {
		return bodyError(err)
	}
	if len(text) > maxOptionBytes {
		return errorf(KindTooLarge, bodyName, "more than %d bytes of options", maxOptionBytes)
	}
	var o links.PageRankOptions
	if len(bytes.TrimSpace(text)) > 0 {
		in := json.NewDecoder(bytes.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(&o); err != nil {
			return errorf(KindBadRequest, bodyName, "%s", clipAt(err.Error(), 200))
		}
		if _, err := in.Token(); err != io.EOF {
			return errorf(KindBadRequest, bodyName, "something follows the object")
		}
	}
	if o.Store {
		if err := l.mayWrite(r.Request); err != nil {
			return err
		}
	}
	if err := l.graph.StartPageRank(r.Context(), o); err != nil {
		return err
	}
	return l.getPageRank(w, r)
}

// getPageRank answers with how the job stands.
func (l *linksDoors) getPageRank(w http.ResponseWriter, r *request) error {
	job, err := l.graph.PageRank(r.Context())
	if err != nil {
		return err
	}
	if job.Epoch != 0 {
		w.Header().Set(epochHeader, strconv.FormatUint(job.Epoch, 10))
	}
	return writeJSON(w, job)
}

func (l *linksDoors) deletePageRank(w http.ResponseWriter, r *request) error {
	if err := l.graph.StopPageRank(r.Context()); err != nil {
		return err
	}
	return l.getPageRank(w, r)
}

func (l *linksDoors) postRequest(w http.ResponseWriter, r *request) error {
	if err := l.graph.Request(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, struct{}{})
}

func (l *linksDoors) postRelinquish(w http.ResponseWriter, r *request) error {
	if err := l.graph.Relinquish(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, struct{}{})
}
