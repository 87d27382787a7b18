// The graph of links of a node or cluster.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

var _ links.Graph = (*Links)(nil)

const (
	// maxCallPages is the most pages of a call.
	maxCallPages = 100_000
	// callPages is the number of pages in a call, and callBytes about the bytes of its URLs.
	callPages = 50_000
	callBytes = 8 << 20
)

// Links is the graph of links behind a node: a [links.Graph] over the network, in the binary form
// of package wire. It is safe for concurrent use. Batches of any size are cut into calls. An answer
// streams into memory; the caller owns the slices.
//
// Its errors are those of the node, see [Error], and also those of package links: links.ErrLoading, links.ErrMemory,
// ErrInvalid, ErrEpoch, ErrBusy and ErrNoJob. All calls are retried, but StartPageRank only if the
// node answered that it did not begin. If an Update is retried, its result may count less, because
// the work of the first try is not counted again.
type Links struct {
	*transport
	pinned bool
	epoch  uint64
}

// Epoch returns the current epoch of the graph. It changes with every change. In a cluster it costs
// a message to each member, much less than Stats.
func (l *Links) Epoch(ctx context.Context) (epoch uint64, err error) {
	what := call{method: http.MethodPost, target: l.endpoint("/links/uids", url.Values{"epoch": {"now"}}), body: wire.AppendRequest(nil, &wire.Request{}),
		header: http.Header{"Content-Type": {wire.MediaType}, "Accept": {wire.MediaType}}}
	err = l.retry(ctx, func() error {
		answer, err := l.try(ctx, what, bytes.NewReader(what.body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if epoch, err = strconv.ParseUint(answer.Header.Get("Trefoil-Links-Epoch"), 10, 64); err != nil {
			return &permanent{fmt.Errorf("the answer tells no epoch: %w", err)}
		}
		return wire.NewReader(answer.Body, wire.UIDs, 0).Close()
	})
	return epoch, linksError("epoch", err)
}

// AtEpoch returns the graph at an epoch from Epoch, Stats or Update. If the graph has changed, all
// reads fail with links.ErrEpoch, so several calls see one graph. In a cluster, pages that get UIDs
// change it too, also when they are first read after they were written at other endpoints. Each
// read costs a message to each member.
func (l *Links) AtEpoch(epoch uint64) *Links {
	return &Links{transport: l.transport, pinned: true, epoch: epoch}
}

// UIDs returns the UIDs of pages; 0 if a page is unknown.
func (l *Links) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	all := make([]uid.UID, 0, len(urls))
	for part := range parts(urls) {
		before := len(all)
		err := l.requestPages(ctx, "uids", &wire.Request{URLs: part}, wire.UIDs, func(r *wire.Reader) {
			all = all[:before]
			for range part {
				all = append(all, r.UID())
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// URLs returns the URLs of pages; "" if a page is unknown.
func (l *Links) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	all := make([]string, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		before := len(all)
		err := l.requestPages(ctx, "urls", &wire.Request{UIDs: part}, wire.URLs, func(r *wire.Reader) {
			all = all[:before]
			for range part {
				all = append(all, r.URL())
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Links returns the links of pages, ascending.
func (l *Links) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	return l.lists(ctx, "get", wire.Request{Direction: d}, pages)
}

// SampleLinks returns samples of the links of pages.
func (l *Links) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (links.Lists, error) {
	s.N = max(s.N, 0)
	return l.lists(ctx, "sample", wire.Request{Direction: d, Sample: s}, pages)
}

func (l *Links) lists(ctx context.Context, endpoint string, q wire.Request, pages []uid.UID) (all links.Lists, err error) {
	all.Ends = make([]int, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		q.UIDs = part
		ends, items := len(all.Ends), len(all.Items)
		err := l.requestPages(ctx, endpoint, &q, wire.Lists, func(r *wire.Reader) {
			all.Ends, all.Items = all.Ends[:ends], all.Items[:items]
			for range part {
				all.Items = r.List(all.Items)
				all.End()
			}
		})
		if err != nil {
			return links.Lists{}, err
		}
	}
	return all, nil
}

// Labels returns the labels of the links of pages, in the order of Links. If the graph may
// change between the two calls, use LabelledLinks.
func (l *Links) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (rank.Lists[links.Label], error) {
	_, labels, err := l.LabelledLinks(ctx, d, pages)
	return labels, err
}

// LabelledLinks returns the links of pages and their labels. For each page both are of one
// moment.
func (l *Links) LabelledLinks(ctx context.Context, d links.Direction, pages []uid.UID) (all links.Lists, labels rank.Lists[links.Label], err error) {
	for part := range slices.Chunk(pages, callPages) {
		ends, items := len(all.Ends), len(all.Items)
		err := l.requestPages(ctx, "get", &wire.Request{Direction: d, UIDs: part, Labels: true}, wire.LabelledLists, func(r *wire.Reader) {
			all.Ends, all.Items = all.Ends[:ends], all.Items[:items]
			labels.Ends, labels.Items = labels.Ends[:ends], labels.Items[:items]
			for range part {
				all.Items, labels.Items = r.LabelledList(all.Items, labels.Items)
				all.End()
				labels.End()
			}
		})
		if err != nil {
			return links.Lists{}, rank.Lists[links.Label]{}, err
		}
	}
	return all, labels, nil
}

// PageLabels returns the labels of the pages themselves; cell.NoLabel if a page has none.
func (l *Links) PageLabels(ctx context.Context, pages []uid.UID) ([]links.Label, error) {
	all := make([]links.Label, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		// 1. Encode the pages. null is an unknown one.
		q := struct {
			UIDs []*string `json:"uids"`
		}{texts(part)}
		body, err := json.Marshal(q)
		if err != nil {
			return nil, linksError("labels", err)
		}
		// 2. Send them, and decode the labels.
		text, _, err := l.send(ctx, call{method: http.MethodPost, target: l.endpoint("/links/labels", l.query()), body: body,
			header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}}, maxRankingBytes)
		var answer struct{ Labels []*links.Label }
		if err == nil {
			err = decodeJSON(text, &answer)
		}
		if err == nil && len(answer.Labels) != len(part) {
			err = fmt.Errorf("the answer is not a node's: %d labels of %d pages", len(answer.Labels), len(part))
		}
		if err != nil {
			return nil, linksError("labels", err)
		}
		for _, label := range answer.Labels {
			if label == nil {
				label = &cell.NoLabel
			}
			all = append(all, *label)
		}
	}
	return all, nil
}

// texts returns UIDs as JSON has them; nil for an unknown page.
func texts(pages []uid.UID) []*string {
	list := make([]*string, len(pages))
	for i, u := range pages {
		if text := u.String(); u != 0 {
			list[i] = &text
		}
	}
	return list
}

// Degrees returns the numbers of links of pages.
func (l *Links) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	all := make([]int, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		before := len(all)
		err := l.requestPages(ctx, "degrees", &wire.Request{Direction: d, UIDs: part}, wire.Degrees, func(r *wire.Reader) {
			all = all[:before]
			for range part {
				all = append(all, r.Degree())
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Pages returns the pages with the next n UIDs after a UID; fewer if there are no more.
func (l *Links) Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error) {
	var all []uid.UID
	for len(all) < n {
		limit, before := min(n-len(all), maxCallPages), len(all)
		query := l.query()
		query.Set("after", after.String())
		query.Set("limit", strconv.Itoa(limit))
		what := call{method: http.MethodGet, target: l.endpoint("/links/pages", query), header: http.Header{"Accept": {wire.MediaType}}}
		err := l.answer(ctx, what, wire.UIDs, -1, func(r *wire.Reader) {
			all = all[:before]
			for range min(r.Count(), limit) {
				all = append(all, r.UID())
			}
		})
		if err != nil {
			return nil, linksError("pages", err)
		}
		if len(all) < before+limit {
			break
		}
		after = all[len(all)-1]
	}
	return all, nil
}

// AllPages yields the UIDs of all pages, ascending. An error ends them.
func (l *Links) AllPages(ctx context.Context) iter.Seq2[uid.UID, error] {
	return func(yield func(uid.UID, error) bool) {
		for after := uid.UID(0); ; {
			pages, err := l.Pages(ctx, after, maxCallPages)
			if err != nil {
				yield(0, err)
				return
			}
			for _, u := range pages {
				if !yield(u, nil) {
					return
				}
				after = u
			}
			if len(pages) < maxCallPages {
				return
			}
		}
	}
}

// Stats returns the figures of the graph.
func (l *Links) Stats(ctx context.Context) (s links.Stats, err error) {
	if err := l.get(ctx, l.endpoint("/links/stats", nil), &s); err != nil {
		return s, linksError("stats", err)
	}
	return s, nil
}

// Capabilities returns the Loader only, because a client reads the epoch by Epoch.
func (l *Links) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: &linkStores{l.transport}}
}

// sendEmpty sends a request without a body.
func (l *Links) sendEmpty(ctx context.Context, method, endpoint string, into any) error {
	text, _, err := l.send(ctx, call{method: method, target: l.endpoint("/links/"+endpoint, nil)}, maxJSONBytes)
	if err == nil && into != nil {
		err = decodeJSON(text, into)
	}
	return linksError(endpoint, err)
}

// parts cuts URLs into calls.
func parts(urls []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for from := 0; from < len(urls); {
			to, bytes := from, 0
			for to < len(urls) && to-from < callPages && (to == from || bytes+len(urls[to]) <= callBytes) {
				bytes += len(urls[to])
				to++
			}
			if !yield(urls[from:to]) {
				return
			}
			from = to
		}
	}
}

// query returns the parameters common to all reads.
func (l *Links) query() url.Values {
	query := url.Values{}
	if l.pinned {
		query.Set("epoch", strconv.FormatUint(l.epoch, 10))
	}
	return query
}

// requestPages sends a request about pages. read must take one item for each page. It may be called again if
// an answer breaks off, and must then start over.
func (l *Links) requestPages(ctx context.Context, endpoint string, q *wire.Request, k wire.Kind, read func(*wire.Reader)) error {
	what := call{method: http.MethodPost, target: l.endpoint("/links/"+endpoint, l.query()), body: wire.AppendRequest(nil, q),
		header: http.Header{"Content-Type": {wire.MediaType}, "Accept": {wire.MediaType}}}
	return linksError(endpoint, l.answer(ctx, what, k, len(q.UIDs)+len(q.URLs), read))
}

// answer sends a call and reads its answer. A malformed answer is permanent, a broken one is
// retried.
func (l *Links) answer(ctx context.Context, what call, k wire.Kind, count int, read func(*wire.Reader)) error {
	return l.retry(ctx, func() error {
		answer, err := l.try(ctx, what, bytes.NewReader(what.body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		r := wire.NewReader(answer.Body, k, count)
		if r.Err() == nil {
			read(r)
		}
		err = r.Close()
		if errors.Is(err, wire.ErrMalformed) {
			return &permanent{fmt.Errorf("the answer is not a node's: %w", err)}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the answer broke off: %w", err)
		}
		return err
	})
}

// graphError is a node's error that is also one of package links.
type graphError struct {
	error
	is error
}

func (e *graphError) Unwrap() []error { return []error{e.error, e.is} }

// linksError adds the endpoint to an error, and its kind in package links. It returns nil for nil.
func linksError(endpoint string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Kind {
		case "loading":
			err = &graphError{err, links.ErrLoading}
		case "link-memory":
			err = &graphError{err, links.ErrMemory}
		case "other-epoch":
			err = &graphError{err, links.ErrEpoch}
		case "bad-request", "bad-parameter", "syntax", "too-large":
			err = &graphError{err, links.ErrInvalid}
		case "conflict":
			err = &graphError{err, links.ErrBusy}
		case "not-found":
			if e.Where == "" { // an unknown endpoint has its path there
				err = &graphError{err, links.ErrNoJob}
			}
		}
	}
	return fmt.Errorf("links: %s: %w", endpoint, err)
}
