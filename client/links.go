// The graph of links of a node or cluster.

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

var _ links.Graph = (*Links)(nil)

const (
	// maxCallPages is the most pages that a node takes in one call.
	maxCallPages = 100_000
	// callPages is how many pages a call asks about, and callBytes about how many bytes
	// of URLs.
	callPages = 50_000
	callBytes = 8 << 20
)

// Links is the graph of links behind a node: a [links.Graph] whose calls go over the
// network, in the binary form of package wire. Batches of any size are cut into calls.
// An answer streams into memory; the slices are the caller's.
//
// Its errors are those of the node, see [Error], and also the ones of package links:
// links.ErrLoading, ErrInvalid, ErrEpoch, ErrBusy and ErrNoJob. Everything is retried
// but StartPageRank, which is sent again only where the node said that it did not
// begin. A retried Update may count less than it did: what was done before is done.
type Links struct {
	c      *Client
	pinned bool
	epoch  uint64
}

// Links returns the graph of links of the node or cluster.
func (c *Client) Links() *Links { return &Links{c: c} }

// Epoch returns the epoch of the graph as it is now: another number after every change. It
// is much cheaper than Stats in a cluster, where it costs a message to each member.
func (l *Links) Epoch(ctx context.Context) (epoch uint64, err error) {
	what := call{method: http.MethodPost, url: l.c.door("/links/uids", url.Values{"epoch": {"now"}}), body: wire.AppendRequest(nil, &wire.Request{}),
		header: http.Header{"Content-Type": {wire.MediaType}, "Accept": {wire.MediaType}}}
	err = l.c.retry(ctx, func() error {
		answer, err := l.c.try(ctx, what, bytes.NewReader(what.body))
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

// AtEpoch returns the graph as long as it is of an epoch, which Epoch, Stats and Update
// tell: all reads fail with links.ErrEpoch if it has changed. So many calls see one graph.
// In a cluster pages that get UIDs change it, too, also by being read for the first time
// after they came by other doors; and each read costs a message to each member.
func (l *Links) AtEpoch(epoch uint64) *Links { return &Links{c: l.c, pinned: true, epoch: epoch} }

// UIDs returns the UIDs of pages, 0 for those that are not known.
func (l *Links) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	all := make([]uid.UID, 0, len(urls))
	for part := range parts(urls) {
		before := len(all)
		err := l.ask(ctx, "uids", &wire.Request{URLs: part}, wire.UIDs, func(r *wire.Reader) {
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

// URLs returns the URLs of pages, "" for those that are not known.
func (l *Links) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	all := make([]string, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		before := len(all)
		err := l.ask(ctx, "urls", &wire.Request{UIDs: part}, wire.URLs, func(r *wire.Reader) {
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

func (l *Links) lists(ctx context.Context, door string, q wire.Request, pages []uid.UID) (all links.Lists, err error) {
	all.Ends = make([]int, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		q.UIDs = part
		ends, items := len(all.Ends), len(all.Items)
		err := l.ask(ctx, door, &q, wire.Lists, func(r *wire.Reader) {
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

// Labels returns the labels of the forward links of pages, in the order of Links. Where
// the graph may change between the two calls, use LabelledLinks.
func (l *Links) Labels(ctx context.Context, pages []uid.UID) (rank.Lists[links.Label], error) {
	_, labels, err := l.LabelledLinks(ctx, pages)
	return labels, err
}

// LabelledLinks returns the forward links of pages and their labels, those of one
// moment for each page.
func (l *Links) LabelledLinks(ctx context.Context, pages []uid.UID) (all links.Lists, labels rank.Lists[links.Label], err error) {
	for part := range slices.Chunk(pages, callPages) {
		ends, items := len(all.Ends), len(all.Items)
		err := l.ask(ctx, "get", &wire.Request{UIDs: part, Labels: true}, wire.LabelledLists, func(r *wire.Reader) {
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

// Degrees returns how many links pages have.
func (l *Links) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	all := make([]int, 0, len(pages))
	for part := range slices.Chunk(pages, callPages) {
		before := len(all)
		err := l.ask(ctx, "degrees", &wire.Request{Direction: d, UIDs: part}, wire.Degrees, func(r *wire.Reader) {
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

// Pages returns the pages with the next n UIDs after a UID, fewer at the end.
func (l *Links) Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error) {
	var all []uid.UID
	for len(all) < n {
		limit, before := min(n-len(all), maxCallPages), len(all)
		query := l.query()
		query.Set("after", after.String())
		query.Set("limit", strconv.Itoa(limit))
		what := call{method: http.MethodGet, url: l.c.door("/links/pages", query), header: http.Header{"Accept": {wire.MediaType}}}
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

// Stats returns what there is.
func (l *Links) Stats(ctx context.Context) (s links.Stats, err error) {
	if err := l.c.get(ctx, l.c.door("/links/stats", nil), &s); err != nil {
		return s, linksError("stats", err)
	}
	return s, nil
}

// Request loads what is not in memory, and returns when it is.
func (l *Links) Request(ctx context.Context) error {
	return l.tell(ctx, http.MethodPost, "request", nil)
}

// Relinquish says that the graph is not needed for now.
func (l *Links) Relinquish(ctx context.Context) error {
	return l.tell(ctx, http.MethodPost, "relinquish", nil)
}

// tell sends a request without a body.
func (l *Links) tell(ctx context.Context, method, door string, into any) error {
	text, _, err := l.c.send(ctx, call{method: method, url: l.c.door("/links/"+door, nil)}, maxJSONBytes)
	if err == nil && into != nil {
		err = decodeJSON(text, into)
	}
	return linksError(door, err)
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

// query returns the parameters that all reads have.
func (l *Links) query() url.Values {
	query := url.Values{}
	if l.pinned {
		query.Set("epoch", strconv.FormatUint(l.epoch, 10))
	}
	return query
}

// ask asks about pages. read takes as many items as there are pages, and may be called
// again where an answer breaks off.
func (l *Links) ask(ctx context.Context, door string, q *wire.Request, k wire.Kind, read func(*wire.Reader)) error {
	what := call{method: http.MethodPost, url: l.c.door("/links/"+door, l.query()), body: wire.AppendRequest(nil, q),
		header: http.Header{"Content-Type": {wire.MediaType}, "Accept": {wire.MediaType}}}
	return linksError(door, l.answer(ctx, what, k, len(q.UIDs)+len(q.URLs), read))
}

// answer sends a call and reads its answer.
func (l *Links) answer(ctx context.Context, what call, k wire.Kind, count int, read func(*wire.Reader)) error {
	return l.c.retry(ctx, func() error {
		answer, err := l.c.try(ctx, what, bytes.NewReader(what.body))
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

// graphError is a node's error that is one of package links too.
type graphError struct {
	error
	is error
}

func (e *graphError) Unwrap() []error { return []error{e.error, e.is} }

// linksError names the door in an error, and what it is to a graph; nil for nil.
func linksError(door string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Kind {
		case "loading":
			err = &graphError{err, links.ErrLoading}
		case "other-epoch":
			err = &graphError{err, links.ErrEpoch}
		case "bad-request", "bad-parameter", "syntax", "too-large":
			err = &graphError{err, links.ErrInvalid}
		case "conflict":
			err = &graphError{err, links.ErrBusy}
		case "not-found":
			if e.Where == "" { // if there is no such endpoint, it is named
				err = &graphError{err, links.ErrNoJob}
			}
		}
	}
	return fmt.Errorf("links: %s: %w", door, err)
}
