// This file holds the open cell: pages, URLs, counts.

package cell

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/urls"
	"github.com/trefoildb/trefoil/links/weburl"
)

// Direction is one of the two lists of a page.
type Direction uint8

const (
	// Forward is from a page to those that it links to.
	Forward Direction = 0
	// Backward is from a page to those that link to it.
	Backward Direction = 1
)

// String returns "forward" or "backward".
func (d Direction) String() string {
	if d == Forward {
		return "forward"
	}
	return "backward"
}

// Cell is an open cell. It is immutable, reads the bytes that it was opened with
// where they lie, and may be used by many goroutines at once.
type Cell struct {
	data   []byte
	header *header
	pages  pageIndex
	urls   *urls.Table
	lists  [2]*lists.Table // by Direction
	ghosts [2]Ghosts
	labels *lists.LabelColumn // nil without labels
	// damage is the first error that a read met in bytes that were right when the
	// cell was opened.
	damage atomic.Pointer[error]
}

// Open returns the cell that data is. It keeps data, which must not change. It
// verifies every checksum, so that one flipped bit anywhere is found, and the
// structure of all indexes; [Cell.Verify] goes through every list, too. An error
// wraps ErrCorrupt or ErrVersion.
func Open(data []byte) (*Cell, error) {
	c, err := open(data, true)
	if err != nil {
		kind := ErrCorrupt
		if errors.Is(err, ErrVersion) {
			kind = ErrVersion
		}
		return nil, fmt.Errorf("cell: open %d bytes: %w: %w: build the cell again, or get it from another machine", len(data), kind, err)
	}
	useLargePages(data)
	return c, nil
}

func open(data []byte, verify bool) (*Cell, error) {
	h, err := parseHeader(data, verify)
	if err != nil {
		return nil, err
	}
	c := &Cell{data: data, header: h}
	in := func(section int, err error) error { return fmt.Errorf("%s: %w", sectionNames[section], err) }
	if c.pages, err = openPages(h.sections[sectionPages], h.pages, h.keys); err != nil {
		return nil, in(sectionPages, err)
	}
	if c.urls, err = urls.Open(h.sections[sectionURLs]); err != nil {
		return nil, in(sectionURLs, err)
	}
	if c.urls.Len() != int(h.pages) {
		return nil, fmt.Errorf("%d URLs of %d pages", c.urls.Len(), h.pages)
	}
	for d := range c.lists {
		if err := c.openLists(d); err != nil {
			return nil, in(sectionForward+d, err)
		}
	}
	if c.labels, err = openLabels(h.sections[sectionLabels]); err != nil {
		return nil, in(sectionLabels, err)
	}
	return c, nil
}

func (c *Cell) openLists(d int) error {
	h := c.header
	t, err := lists.Open(h.sections[sectionForward+d])
	if err != nil {
		return err
	}
	if t.Len() != h.pages || t.NumLocals()+t.NumGhosts() != h.links[d] || t.MaxDegree() != h.maxDegree[d] || t.Codec() != h.codec[d] {
		return fmt.Errorf("%d lists of %d + %d links, at most %d, in %s, and the header says %d, %d, %d, %s",
			t.Len(), t.NumLocals(), t.NumGhosts(), t.MaxDegree(), t.Codec(), h.pages, h.links[d], h.maxDegree[d], h.codec[d])
	}
	c.lists[d] = t
	c.ghosts[d], err = openGhosts(h.sections[sectionForwardGhosts+d], h.keys, t.GhostEnd())
	return err
}

// Bytes returns the bytes that the cell reads. They must not be changed.
func (c *Cell) Bytes() []byte { return c.data }

// Len returns the number of pages: their ordinals are below it.
func (c *Cell) Len() int { return int(c.header.pages) }

// Range returns the UIDs that the cell is for.
func (c *Cell) Range() uid.Range { return c.header.keys }

// Epoch returns the epoch that the builder was given.
func (c *Cell) Epoch() uint64 { return c.header.epoch }

// Meta returns the metadata that the builder was given. It must not be changed.
func (c *Cell) Meta() []byte { return c.header.meta }

// Codec returns the codec of the lists of direction d.
func (c *Cell) Codec(d Direction) lists.Codec { return c.header.codec[d] }

// Sketches returns the section of that name, empty where there is none. It must not
// be changed.
func (c *Cell) Sketches() []byte { return c.header.sections[sectionSketches] }

// UID returns the UID of an ordinal; 0 for one that is not below Len.
func (c *Cell) UID(ord uint32) uid.UID {
	if ord >= c.header.pages {
		return 0
	}
	return c.pages.uid(ord)
}

// Ordinal returns the ordinal of the page u; ok is false where it is no page of the
// cell.
func (c *Cell) Ordinal(u uid.UID) (ord uint32, ok bool) { return c.pages.ordinal(u) }

// AppendURL appends the URL of an ordinal; nothing for one that is not below Len.
func (c *Cell) AppendURL(dst []byte, ord uint32) []byte { return c.urls.AppendURL(dst, ord) }

// Find returns the page of a URL, which is compared byte by byte.
func (c *Cell) Find(url string) (ord uint32, ok bool) {
	return c.FindBytes(unsafe.Slice(unsafe.StringData(url), len(url)))
}

// FindBytes is Find for a URL in a slice, which it does not keep.
func (c *Cell) FindBytes(url []byte) (ord uint32, ok bool) {
	return c.urls.FindBytes(url, hostHash(url))
}

// hostHash is what the table of URLs knows the host of a URL by.
func hostHash(url []byte) uint64 {
	var buf [128]byte
	return xxhash.Sum64(weburl.AppendHostKey(buf[:0], url))
}

// URLs returns the table of URLs by ordinal, for scans.
func (c *Cell) URLs() *urls.Table { return c.urls }

// NumLinks returns how many links the lists of direction d have.
func (c *Cell) NumLinks(d Direction) int64 { return int64(c.header.links[d]) }

// MaxDegree returns how many links the longest list of direction d has.
func (c *Cell) MaxDegree(d Direction) int { return int(c.header.maxDegree[d]) }

// HasLabels reports whether any link has a label.
func (c *Cell) HasLabels() bool { return c.labels != nil }

// Lists returns the lists of direction d with local targets as ordinals and others
// as ghosts, for passes over the whole cell.
func (c *Cell) Lists(d Direction) *lists.Table { return c.lists[d] }

// Ghosts returns what the ghosts of direction d are.
func (c *Cell) Ghosts(d Direction) *Ghosts { return &c.ghosts[d] }

// Sizes returns how many bytes each section takes, by its name.
func (c *Cell) Sizes() map[string]int {
	sizes := make(map[string]int, numSections)
	for i, section := range c.header.sections {
		sizes[sectionNames[i]] = len(section)
	}
	return sizes
}

// damaged notes damage that a read has met.
func (c *Cell) damaged(err error) {
	err = fmt.Errorf("cell: %w: %w", ErrCorrupt, err)
	c.damage.CompareAndSwap(nil, &err)
}

// Err returns the first damage that any read has met since the cell was opened, or
// nil. There is none unless memory failed: Open has seen the checksums. A list that
// is damaged reads as empty.
func (c *Cell) Err() error {
	if err := c.damage.Load(); err != nil {
		return *err
	}
	return nil
}
