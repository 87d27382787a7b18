// The doors that read the graph of links.

package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// pageBytesHeld is what a page that is asked about takes: its UID and its degree, in
// our slices and a graph's.
const pageBytesHeld = 40

// postUIDs answers with the UIDs of URLs.
func (l *linksDoors) postUIDs(w http.ResponseWriter, r *request) error {
	c, err := l.beginCall(w, r, "uids", uidsTakes)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.account.grow(int64(len(c.asked.urls)) * pageBytesHeld); err != nil {
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
func (l *linksDoors) postURLs(w http.ResponseWriter, r *request) error {
	c, err := l.beginCall(w, r, "urls", urlsTakes)
	if err != nil {
		return err
	}
	defer c.end()
	return c.stream(wire.URLs, len(c.asked.uids), func(out linksAnswer) error {
		urls := c.urlsOf(c.asked.uids)
		defer urls.account.release()
		for range c.asked.uids {
			url, err := urls.next()
			if err != nil {
				return err
			}
			out.URL(url)
		}
		return nil
	})
}

// postDegrees answers with how many links pages have.
func (l *linksDoors) postDegrees(w http.ResponseWriter, r *request) error {
	c, err := l.beginCall(w, r, "degrees", degreesTakes)
	if err != nil {
		return err
	}
	defer c.end()
	_, degrees, err := c.degrees()
	if err != nil {
		return err
	}
	return c.stream(wire.Degrees, len(degrees), func(out linksAnswer) error {
		for _, n := range degrees {
			out.Degree(n)
		}
		c.served(len(degrees), 0)
		return nil
	})
}

// askedPages returns the pages that are asked about.
func (c *linksCall) askedPages() ([]uid.UID, error) {
	if err := c.account.grow(int64(len(c.asked.uids)+len(c.asked.urls)) * pageBytesHeld); err != nil {
		return nil, err
	}
	return c.pages()
}

// degrees returns the pages that are asked about and how many links they have.
func (c *linksCall) degrees() ([]uid.UID, []int, error) {
	pages, err := c.askedPages()
	if err != nil {
		return nil, nil, err
	}
	degrees, err := c.graph.Degrees(c.ctx, c.asked.direction, pages)
	if err == nil {
		err = answered("degrees", len(degrees), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	return pages, degrees, err
}

// postGet answers with the links of pages.
func (l *linksDoors) postGet(w http.ResponseWriter, r *request) error {
	c, err := l.beginCall(w, r, "get", getTakes)
	if err != nil {
		return err
	}
	defer c.end()
	if bounded, ok := c.graph.(boundedGraph); ok && !c.asked.labels {
		return c.streamUpTo(bounded)
	}
	pages, degrees, err := c.degrees()
	if err != nil {
		return err
	}
	if c.asked.labels {
		return c.streamLabelled(pages, degrees)
	}
	return c.streamLists(pages, degrees, func(pages []uid.UID) (links.Lists, error) {
		return c.graph.Links(c.ctx, c.asked.direction, pages)
	})
}

// postSample answers with samples of the links of pages.
func (l *linksDoors) postSample(w http.ResponseWriter, r *request) error {
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
		return c.graph.SampleLinks(c.ctx, c.asked.direction, pages, c.asked.sample)
	})
}

// fewSampled is how long samples are whose lengths need not be known before.
const fewSampled = 64

// sampleBounds returns the pages that are asked about, and how long their samples are at
// most.
func (c *linksCall) sampleBounds() (pages []uid.UID, bounds []int, err error) {
	if c.asked.sample.N > fewSampled {
		pages, bounds, err = c.degrees()
		for i := range bounds {
			bounds[i] = min(bounds[i], c.asked.sample.N)
		}
		return pages, bounds, err
	}
	if pages, err = c.askedPages(); err != nil {
		return nil, nil, err
	}
	bounds = make([]int, len(pages))
	for i := range bounds {
		bounds[i] = c.asked.sample.N
	}
	return pages, bounds, c.checkEarly()
}

// bytesALabel is what a link and its label take, but for the anchor's text.
const bytesALabel = 3*bytesALink + 32

// streamLabelled answers with lists and their labels.
func (c *linksCall) streamLabelled(pages []uid.UID, bounds []int) error {
	return c.stream(wire.LabelledLists, len(pages), func(out linksAnswer) error {
		for tries := 0; len(pages) > 0; {
			n, count := piece(bounds, max(c.pieceLinks/labelledShare, 1))
			if tries > 0 {
				n, count = 1, bounds[0] // one page changes more seldom
			}
			done, err := c.labelledPiece(out, pages[:n], count)
			switch {
			case err != nil:
				return err
			case done:
				pages, bounds, tries = pages[n:], bounds[n:], 0
			case tries >= maxLabelTries:
				return &Error{Kind: KindUnavailable, retryAfter: 1,
					Message: fmt.Sprintf("the links of page %d change faster than they and their labels are read; try again", pages[0])}
			default:
				tries++
			}
		}
		return nil
	})
}

const maxLabelTries = 20

// labelledPiece answers with the lists and labels of some pages. done is false where
// they changed between the reads: nothing was answered then.
func (c *linksCall) labelledPiece(out linksAnswer, pages []uid.UID, count int) (done bool, err error) {
	held := account{budget: &c.memory, client: clientOf(c.r.Request)}
	defer held.release()
	if err := c.hold(&held, count, bytesALabel); err != nil {
		return false, err
	}
	lists, err := c.graph.Links(c.ctx, links.Forward, pages)
	if err != nil {
		return false, err
	}
	labels, err := c.graph.Labels(c.ctx, pages)
	if err != nil {
		return false, err
	}
	// Labels have the order of links at one moment: that of both reads of the links, if
	// these are the same.
	again, err := c.graph.Links(c.ctx, links.Forward, pages)
	if err == nil {
		err = c.checkEpoch()
	}
	if err == nil {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err != nil || !slices.Equal(lists.Ends, again.Ends) || !slices.Equal(lists.Items, again.Items) || !slices.Equal(lists.Ends, labels.Ends) {
		return false, err
	}
	anchors := int64(0)
	for _, l := range labels.Items {
		anchors += int64(len(l.Anchor))
	}
	if err := held.grow(anchors); err != nil {
		return false, err
	}
	c.served(lists.Len(), len(lists.Items))
	if c.asked.asURLs {
		return true, c.writeURLLists(out, lists, &labels)
	}
	for i := range lists.Len() {
		out.LabelledList(lists.At(i), labels.At(i))
	}
	return true, out.Err()
}

// writeURLLists writes lists as URLs, with labels where these are not nil.
func (c *linksCall) writeURLLists(out linksAnswer, lists links.Lists, labels *rank.Lists[links.Label]) error {
	a, ok := out.(*jsonAnswer)
	if !ok {
		return errorf(KindNotAcceptable, "as", "lists of URLs come as %s alone", typeJSON)
	}
	urls := c.urlsOf(lists.Items)
	defer urls.account.release()
	for i := range lists.Len() {
		a.begin()
		for k := range lists.At(i) {
			url, err := urls.next()
			if err != nil {
				return err
			}
			a.next()
			if labels == nil {
				a.url(url)
				continue
			}
			a.b = append(a.b, `{"url":`...)
			a.url(url)
			a.label(labels.At(i)[k])
		}
		a.finish()
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// urlCursor goes through the URLs of pages, some of which it holds.
type urlCursor struct {
	c       *linksCall
	pages   []uid.UID // whose URLs are still to be read
	urls    []string  // that were read
	batch   int
	account account
}

const (
	minURLBatch, maxURLBatch = 64, 1 << 14
	// urlBatchBytes is about how much is read at a time.
	urlBatchBytes = 1 << 20
)

func (c *linksCall) urlsOf(pages []uid.UID) *urlCursor {
	return &urlCursor{c: c, pages: pages, batch: 4 * minURLBatch, account: account{budget: &c.memory, client: clientOf(c.r.Request)}}
}

// next returns the next page's URL.
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

// read reads a batch. The next one is larger or smaller, as URLs are long.
func (u *urlCursor) read() (err error) {
	u.account.release()
	n := min(u.batch, len(u.pages))
	u.urls, err = u.c.graph.URLs(u.c.ctx, u.pages[:n])
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
	return u.account.grow(int64(bytes))
}

// defaultPages is how many pages /links/pages tells where nobody says.
const defaultPages = 10_000

// getPages answers with the pages that there are, in the order of their UIDs.
func (l *linksDoors) getPages(w http.ResponseWriter, r *request) error {
	after := uint64(0)
	if text, ok := r.params["after"]; ok {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return errorf(KindBadParameter, "after", "%q is no UID", clip(text))
		}
	}
	limit, err := r.params.number("limit")
	if err != nil {
		return err
	}
	if limit = min(limit, maxLinkPages); limit == 0 {
		limit = defaultPages
	}
	c, err := l.beginCall(w, r, "pages", nil)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.account.grow(int64(limit) * bytesALink); err != nil {
		return err
	}
	pages, err := l.graph.Pages(c.ctx, uid.UID(after), limit)
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
		if a, ok := out.(*jsonAnswer); ok {
			a.tail = `,"next":null}`
			if len(pages) == limit {
				a.tail = `,"next":"` + pages[limit-1].String() + `"}`
			}
		}
		return nil
	})
}

// getLinkStats answers with what there is.
func (l *linksDoors) getLinkStats(w http.ResponseWriter, r *request) error {
	stats, err := l.graph.Stats(r.Context())
	if err != nil {
		return err
	}
	if stats.Epoch != 0 {
		w.Header().Set(epochHeader, strconv.FormatUint(stats.Epoch, 10))
	}
	return writeJSON(w, stats)
}
