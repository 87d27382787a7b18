// Reads: patterns, ranges and counts.

package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// Page is a part of an answer.
type Page struct {
	Triples []triple.Triple
	// Annotations are those of Triples, one list for each, if PageOptions.Annotations is set.
	Annotations [][]triple.ApplicationData
	Next        string // the cursor of the next page; "" if there is none
	// Degraded is set if the answer is degraded: see [Options].
	Degraded bool
}

// PageOptions select a part of an answer.
type PageOptions struct {
	Limit   int    // most triples; 0 is the client's page size
	Cursor  string // Next of the page before; "" is the beginning
	Offset  int64  // triples to skip; with a Cursor it must be 0, because Next is behind them
	Reverse bool   // from the end to the beginning; ranges only
	// Annotations requests the annotations of the triples too.
	Annotations bool
	// NQuads, if it is not nil, gets the page as lines of N-Quads, and the page has no Triples. This takes less
	// processor time, because no triple is decoded. Annotations are on the lines as [triple.AppendAnnotated]
	// writes them; no page begins with [triple.AnnotationsHeader]. After an error a part may be written.
	NQuads io.Writer
}

// RangeOptions are the direction and the start of a range.
type RangeOptions struct {
	Reverse bool   // from the end to the beginning
	Cursor  string // start: Next of a page of the same range and direction
	Offset  int64  // triples to skip; with a Cursor it must be 0
}

// Match yields the triples that match p, in the best order for p. An error ends them.
func (c *Client) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return c.all(ctx, "/triples", patternQuery(p), "", 0)
}

// Range yields the triples between bounds, in their order. An error ends them.
func (c *Client) Range(ctx context.Context, b triple.Bounds, o RangeOptions) iter.Seq2[triple.Triple, error] {
	return c.all(ctx, "/range", boundsQuery(b, o.Reverse), o.Cursor, o.Offset)
}

// MatchPage returns a part of Match. A page may hold fewer triples than its limit although more
// follow; only Next marks the end.
func (c *Client) MatchPage(ctx context.Context, p triple.Pattern, o PageOptions) (Page, error) {
	if o.Reverse {
		return Page{}, fmt.Errorf("client: a pattern has no direction; ask for a range")
	}
	query := patternQuery(p)
	if o.Annotations {
		query.Set("annotations", "true")
	}
	return c.page(ctx, "/triples", query, o)
}

// RangePage returns a part of Range. A page may hold fewer triples than its limit although more
// follow; only Next marks the end.
func (c *Client) RangePage(ctx context.Context, b triple.Bounds, o PageOptions) (Page, error) {
	query := boundsQuery(b, o.Reverse)
	if o.Annotations {
		query.Set("annotations", "true")
	}
	return c.page(ctx, "/range", query, o)
}

// Count returns the number of triples that match p.
func (c *Client) Count(ctx context.Context, p triple.Pattern) (int64, error) {
	n, _, err := c.count(ctx, patternQuery(p))
	return n, err
}

// Estimate returns about the number of triples that match p. It is faster than Count. exact reports
// whether n is the count.
func (c *Client) Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error) {
	query := patternQuery(p)
	query.Set("estimate", "true")
	return c.count(ctx, query)
}

func (c *Client) count(ctx context.Context, query url.Values) (int64, bool, error) {
	var answer struct {
		Count int64
		Exact bool
	}
	if err := c.get(ctx, c.endpoint("/count", query), &answer); err != nil {
		return 0, false, fmt.Errorf("count: %w", err)
	}
	return answer.Count, answer.Exact, nil
}

// all yields the triples of all pages.
func (c *Client) all(ctx context.Context, path string, query url.Values, from string, offset int64) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		skip := offset // of the first page only
		for cursor := from; ; skip = 0 {
			page, err := c.fetch(ctx, path, query, c.options.PageSize, cursor, skip)
			if err != nil {
				yield(triple.Triple{}, err)
				return
			}
			for t, err := range parsePage(page.text, nil) {
				if !yield(t, err) || err != nil {
					return
				}
			}
			if page.next == "" {
				return
			}
			cursor = page.next
		}
	}
}

func (c *Client) page(ctx context.Context, path string, query url.Values, o PageOptions) (p Page, err error) {
	// 1. Fetch the page whole.
	if o.Limit < 0 {
		return p, fmt.Errorf("client: a limit of %d", o.Limit)
	}
	limit := min(o.Limit, maxPageSize)
	if limit == 0 {
		limit = c.options.PageSize
	}
	got, err := c.fetch(ctx, path, query, limit, o.Cursor, o.Offset)
	if err != nil {
		return p, err
	}
	p = Page{Next: got.next, Degraded: got.degraded}
	if o.NQuads != nil {
		lines, err := got.lines()
		if err == nil {
			_, err = o.NQuads.Write(lines)
		}
		if err != nil {
			return Page{}, err
		}
		return p, nil
	}
	// 2. Parse it, with annotations if they are requested.
	var annotations []triple.ApplicationData
	for t, err := range parsePage(got.text, &annotations) {
		if err != nil {
			return Page{}, err
		}
		// A triple with very long annotations may have several lines.
		if last := len(p.Triples) - 1; o.Annotations && last >= 0 && p.Triples[last] == t {
			p.Annotations[last] = append(p.Annotations[last], annotations...)
			continue
		}
		p.Triples = append(p.Triples, t)
		if o.Annotations {
			p.Annotations = append(p.Annotations, annotations)
		}
	}
	return p, nil
}

// maxPageBytes bounds a page: 16 MiB, or one triple of four terms of 16 MiB, with each character
// escaped.
const maxPageBytes = 256 << 20

// fetched is the whole text of one page, and the cursor of the next.
type fetched struct {
	text     []byte
	media    string // the media type of text
	next     string
	degraded bool
}

// lines returns the text without the header of annotations. It returns an error if the text is not a node's,
// because no parser reads it.
func (f fetched) lines() ([]byte, error) {
	whole := len(f.text) == 0 || f.text[len(f.text)-1] == '\n'
	if media, _, _ := strings.Cut(f.media, ";"); media != mediaNQuads || !whole {
		return nil, fmt.Errorf("read triples: the answer is not a node's: %q, which begins with %.80q", f.media, f.text)
	}
	return bytes.TrimPrefix(f.text, []byte(triple.AnnotationsHeader+"\n")), nil
}

const mediaNQuads = "application/n-quads"

func (c *Client) fetch(ctx context.Context, path string, query url.Values, limit int, cursor string, offset int64) (p fetched, err error) {
	query = maps.Clone(query) // an iterator may be used again
	query.Set("limit", strconv.Itoa(limit))
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if offset != 0 {
		query.Set("offset", strconv.FormatInt(offset, 10))
	}
	text, header, err := c.send(ctx, call{
		method: http.MethodGet, target: c.endpoint(path, query), header: http.Header{"Accept": {mediaNQuads}},
	}, maxPageBytes)
	if err == nil {
		p = fetched{text: text, media: header.Get("Content-Type"), degraded: isDegraded(header)}
		p.next, err = nextCursor(header)
	}
	if err != nil {
		return fetched{}, fmt.Errorf("read triples: %w", err)
	}
	if p.next != "" && p.next == cursor {
		return fetched{}, fmt.Errorf("read triples: the node announces the same page again")
	}
	return p, nil
}

// nextCursor returns the cursor in a Link header; "" if there is no next page.
func nextCursor(header http.Header) (string, error) {
	for _, link := range header.Values("Link") {
		target, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
		if !ok || !strings.Contains(rest, `rel="next"`) {
			continue
		}
		u, err := url.Parse(target)
		if err != nil {
			return "", fmt.Errorf("the next page's address: %w", err)
		}
		if cursor := u.Query().Get("cursor"); cursor != "" {
			return cursor, nil
		}
		return "", fmt.Errorf("the next page's address has no cursor: %s", target)
	}
	return "", nil
}

// parsePage yields the triples of N-Quads text. They share no memory with it. If annotations is not
// nil, it is set to those of the triple.
func parsePage(text []byte, annotations *[]triple.ApplicationData) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		sc := triple.NewScanner(bytes.NewReader(text), triple.ScanOptions{Source: "answer", Quads: true, MaxLine: maxPageBytes})
		for sc.Scan() {
			if annotations != nil {
				*annotations = sc.Annotations()
			}
			if !yield(sc.Triple().Clone(), nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(triple.Triple{}, fmt.Errorf("read triples: %w", err))
		}
	}
}

// patternQuery returns the parameters of a pattern.
func patternQuery(p triple.Pattern) url.Values {
	query := url.Values{}
	setTerm(query, "s", p.Subject)
	setTerm(query, "p", p.Predicate)
	setTerm(query, "o", p.Object)
	if p.DefaultGraph && p.Graph.IsZero() {
		query.Set("g", "default")
	} else {
		setTerm(query, "g", p.Graph)
	}
	return query
}

// boundsQuery returns the parameters of bounds.
func boundsQuery(b triple.Bounds, reverse bool) url.Values {
	query := url.Values{"order": {b.Order.String()}}
	setTerms(query, "prefix", b.Prefix)
	setTerms(query, "from", b.From)
	setTerms(query, "until", b.Until)
	setTerm(query, "ge", b.GE)
	setTerm(query, "gt", b.GT)
	setTerm(query, "le", b.LE)
	setTerm(query, "lt", b.LT)
	if b.Starts.Kind != triple.None {
		query.Set("starts", b.Starts.String())
	}
	if reverse {
		query.Set("reverse", "true")
	}
	return query
}

func setTerm(query url.Values, name string, t triple.Term) {
	if !t.IsZero() {
		query.Set(name, t.String())
	}
}

func setTerms(query url.Values, name string, terms []triple.Term) {
	var text []byte
	for i, t := range terms {
		if i > 0 {
			text = append(text, ' ')
		}
		text = triple.AppendNT(text, t)
	}
	if len(text) > 0 {
		query.Set(name, string(text))
	}
}
