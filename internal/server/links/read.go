// Reads of UIDs, URLs, lists, samples and degrees.

package links

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// pageBytesHeld is the memory of a page in a request: its UID and its degree, in our slices and the
// graph's.
const pageBytesHeld = 40

// postUIDs answers with the UIDs of URLs.
func (l *API) postUIDs(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "uids", uidsTakes)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.account.Grow(int64(len(c.query.urls)) * pageBytesHeld); err != nil {
		return err
	}
	pages, err := c.pages()
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return err
	}
	return c.stream(wire.UIDs, len(pages), func(out linksAnswer) error {
		for _, u := range pages {
			out.UID(u)
		}
		return nil
	})
}

// postURLs answers with the URLs of UIDs.
func (l *API) postURLs(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "urls", urlsTakes)
	if err != nil {
		return err
	}
	defer c.end()
	return c.stream(wire.URLs, len(c.query.uids), func(out linksAnswer) error {
		urls := c.urlsOf(c.graph, c.query.uids)
		defer urls.account.Release()
		for range c.query.uids {
			url, err := urls.next()
			if err != nil {
				return err
			}
			out.URL(url)
		}
		return nil
	})
}

// postDegrees answers with the numbers of links of pages.
func (l *API) postDegrees(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "degrees", degreesTakes)
	if err != nil {
		return err
	}
	defer c.end()
	pages, degrees, err := c.degrees()
	if err != nil {
		return err
	}
	c.countReads(c.query.direction, pages, func(i int) int { return degrees[i] })
	return c.stream(wire.Degrees, len(degrees), func(out linksAnswer) error {
		for _, n := range degrees {
			out.Degree(n)
		}
		c.served(len(degrees), 0)
		return nil
	})
}

// requestedPages returns the pages of the request.
func (c *linksCall) requestedPages() ([]uid.UID, error) {
	if err := c.account.Grow(int64(len(c.query.uids)+len(c.query.urls)) * pageBytesHeld); err != nil {
		return nil, err
	}
	return c.pages()
}

// degrees returns the pages of the request and their numbers of links.
func (c *linksCall) degrees() ([]uid.UID, []int, error) {
	pages, err := c.requestedPages()
	if err != nil {
		return nil, nil, err
	}
	degrees, err := c.graph.Degrees(c.ctx, c.query.direction, pages)
	if err == nil {
		err = answered("degrees", len(degrees), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	return pages, degrees, err
}

// postGet answers with the links of pages.
func (l *API) postGet(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "get", getTakes)
	if err != nil {
		return err
	}
	defer c.end()
	if c.has.Prefix != nil && !c.query.labels {
		return c.streamUpTo()
	}
	pages, degrees, err := c.degrees()
	if err != nil {
		return err
	}
	if c.query.labels {
		return c.streamLabelled(pages, degrees)
	}
	return c.streamLists(pages, degrees, func(pages []uid.UID) (links.Lists, error) {
		return c.graph.Links(c.ctx, c.query.direction, pages)
	})
}

// postSample answers with samples of the links of pages.
func (l *API) postSample(w http.ResponseWriter, r *request.Request) error {
	c, err := l.beginCall(w, r, "sample", sampleTakes)
	if err != nil {
		return err
	}
	defer c.end()
	pages, bounds, err := c.sampleBounds()
	if err != nil {
		return err
	}
	return c.streamLists(pages, bounds, func(pages []uid.UID) (links.Lists, error) {
		return c.graph.SampleLinks(c.ctx, c.query.direction, pages, c.query.sample)
	})
}

// fewSampled is a sample size. If samples are not longer, their lengths need not be known before.
const fewSampled = 64

// sampleBounds returns the pages of the request, and upper bounds of the lengths of their samples.
func (c *linksCall) sampleBounds() (pages []uid.UID, bounds []int, err error) {
	if c.query.sample.N > fewSampled || c.rows != nil { // from rows a sample needs its whole list
		pages, bounds, err = c.degrees()
		for i := range bounds {
			if c.rows == nil {
				bounds[i] = min(bounds[i], c.query.sample.N)
			}
		}
		return pages, bounds, err
	}
	if pages, err = c.requestedPages(); err != nil {
		return nil, nil, err
	}
	bounds = make([]int, len(pages))
	for i := range bounds {
		bounds[i] = c.query.sample.N
	}
	return pages, bounds, c.checkEarly()
}

// bytesALabel is the memory of a link and its label, without the anchor's text.
const bytesALabel = 3*bytesALink + 32

// streamLabelled answers with lists and their labels. If they change meanwhile, it tries again, one
// page at a time.
func (c *linksCall) streamLabelled(pages []uid.UID, bounds []int) error {
	return c.stream(wire.LabelledLists, len(pages), func(out linksAnswer) error {
		for tries := 0; len(pages) > 0; {
			n, count := piece(bounds, max(c.PieceLinks/LabelledShare, 1))
			if tries > 0 {
				n, count = 1, bounds[0] // because one page changes less often
			}
			done, err := c.labelledPiece(out, pages[:n], count)
			switch {
			case err != nil:
				return err
			case done:
				pages, bounds, tries = pages[n:], bounds[n:], 0
			case tries >= maxLabelTries:
				return &problem.Error{Kind: problem.KindUnavailable, RetryAfter: 1,
					Message: fmt.Sprintf("the links of page %d change faster than they and their labels are read; try again", pages[0])}
			default:
				tries++
			}
		}
		return nil
	})
}

const maxLabelTries = 20

// labelledPiece answers with the lists and labels of some pages. done is false if they changed
// between the reads; then nothing was answered.
func (c *linksCall) labelledPiece(out linksAnswer, pages []uid.UID, count int) (done bool, err error) {
	held := c.API.Account(c.r)
	defer held.Release()
	// 1. Read lists, labels, and lists again.
	if err := c.hold(held, count, bytesALabel); err != nil {
		return false, err
	}
	lists, err := c.graph.Links(c.ctx, c.query.direction, pages)
	if err != nil {
		return false, err
	}
	labels, err := c.graph.Labels(c.ctx, c.query.direction, pages)
	if err != nil {
		return false, err
	}
	// Labels have the order of the links at one moment. If both reads of the links are equal, it is
	// also their moment.
	again, err := c.graph.Links(c.ctx, c.query.direction, pages)
	if err == nil {
		err = c.checkEpoch()
	}
	if err == nil {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err != nil || !slices.Equal(lists.Ends, again.Ends) || !slices.Equal(lists.Items, again.Items) || !slices.Equal(lists.Ends, labels.Ends) {
		return false, err
	}
	// 2. Pay for the anchors, and answer.
	anchors := int64(0)
	for _, l := range labels.Items {
		anchors += int64(len(l.Anchor))
	}
	if err := held.Grow(anchors); err != nil {
		return false, err
	}
	c.served(lists.Len(), len(lists.Items))
	c.countReads(c.query.direction, pages, func(i int) int { return len(lists.At(i)) })
	if c.query.asURLs {
		return true, c.writeURLLists(out, lists, &labels)
	}
	for i := range lists.Len() {
		if err := out.List(lists.At(i), labels.At(i)); err != nil {
			return true, err
		}
	}
	return true, nil
}

// writeURLLists writes lists as URLs, with labels if these are not nil.
func (c *linksCall) writeURLLists(out linksAnswer, lists links.Lists, labels *rank.Lists[links.Label]) error {
	a, ok := out.(*jsonAnswer)
	if !ok {
		return problem.Errorf(problem.KindNotAcceptable, "as", "lists of URLs come as %s alone", response.JSON)
	}
	// The URLs are read in batches over all lists, because a list may be short. The pages are the user's, so
	// any graph may name them.
	urls := c.urlsOf(c.API.graph, lists.Items)
	defer urls.account.Release()
	for i := range lists.Len() {
		a.begin()
		for k := range lists.At(i) {
			url, err := urls.next()
			if err != nil {
				return err
			}
			a.next()
			// Without labels an item is a string, with labels an object.
			if labels == nil {
				a.url(url)
				continue
			}
			a.b = append(a.b, `{"url":`...)
			a.url(url)
			a.label(labels.At(i)[k])
		}
		a.finish()
		// The client has gone, so the rest need not be read.
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// urlCursor iterates over the URLs of pages. It holds a batch of them.
type urlCursor struct {
	c       *linksCall
	names   linkrows.Names
	pages   []uid.UID // with URLs still to be read
	urls    []string  // read and not yet returned
	batch   int
	account *limits.Account
}

const (
	minURLBatch, maxURLBatch = 64, 1 << 14
	// urlBatchBytes is about the size of a batch.
	urlBatchBytes = 1 << 20
)

func (c *linksCall) urlsOf(names linkrows.Names, pages []uid.UID) *urlCursor {
	return &urlCursor{c: c, names: names, pages: pages, batch: 4 * minURLBatch, account: c.API.Account(c.r)}
}

// next returns the URL of the next page. The caller must not call it more often than there are
// pages.
func (u *urlCursor) next() (string, error) {
	if len(u.urls) == 0 {
		if err := u.read(); err != nil {
			return "", err
		}
	}
	url := u.urls[0]
	u.urls = u.urls[1:]
	return url, nil
}

// read reads a batch. The size of the next batch depends on the length of the URLs.
func (u *urlCursor) read() (err error) {
	// 1. Read the URLs. The previous batch is released first, because only one may be held.
	u.account.Release()
	n := min(u.batch, len(u.pages))
	u.urls, err = u.names.URLs(u.c.ctx, u.pages[:n])
	if err == nil {
		err = answered("URLs", len(u.urls), n)
	}
	if err == nil {
		err = u.c.checkEpoch()
	}
	if err != nil {
		return err
	}
	u.pages = u.pages[n:]
	// 2. Adapt the size of the next batch, and pay for this one.
	bytes := 0
	for _, url := range u.urls {
		bytes += 16 + len(url)
	}
	switch {
	case bytes > urlBatchBytes:
		u.batch = max(u.batch/2, minURLBatch)
	case bytes < urlBatchBytes/4:
		u.batch = min(u.batch*2, maxURLBatch)
	}
	return u.account.Grow(int64(bytes))
}

// defaultPages is the number of pages of /links/pages if the request has no limit.
const defaultPages = 10_000

// getPages answers with all pages, in the order of their UIDs.
func (l *API) getPages(w http.ResponseWriter, r *request.Request) error {
	// 1. Read the parameters.
	after := uint64(0)
	if text, ok := r.Params["after"]; ok {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return problem.Errorf(problem.KindBadParameter, "after", "%q is no UID", problem.Clip(text))
		}
	}
	limit, err := r.Params.Number("limit", 1)
	if err != nil {
		return err
	}
	if limit = min(limit, MaxPages); limit == 0 {
		limit = defaultPages
	}
	// 2. Read the pages.
	c, err := l.beginCall(w, r, "pages", nil)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.account.Grow(int64(limit) * bytesALink); err != nil {
		return err
	}
	pages, err := l.graph.Pages(c.ctx, uid.UID(after), limit)
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return err
	}
	// 3. Answer. In JSON, next is null if the answer is the last; it is a UID if there may be more.
	return c.stream(wire.UIDs, len(pages), func(out linksAnswer) error {
		for _, u := range pages {
			out.UID(u)
		}
		if a, ok := out.(*jsonAnswer); ok {
			a.tail = `,"next":null}`
			if len(pages) == limit {
				a.tail = `,"next":"` + pages[limit-1].String() + `"}`
			}
		}
		return nil
	})
}

// getLinkStats answers with the figures of the graph.
func (l *API) getLinkStats(w http.ResponseWriter, r *request.Request) error {
	stats, err := l.graph.Stats(r.Context())
	if err != nil {
		return err
	}
	if stats.Epoch != 0 {
		w.Header().Set(EpochHeader, strconv.FormatUint(stats.Epoch, 10))
	}
	return response.WriteJSON(w, stats)
}
