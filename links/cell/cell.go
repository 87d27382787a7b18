// Cell: the pages, URLs and counts of an open cell.

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

// Direction selects one of the two lists of a page.
type Direction uint8

const (
	// Forward is from a page to the pages that it links to.
	Forward Direction = 0
	// Backward is from a page to the pages that link to it.
	Backward Direction = 1
)

// String returns "forward" or "backward".
func (d Direction) String() string {
	if d == Forward {
		return "forward"
	}
	return "backward"
}

// Cell is an open cell. It is immutable, reads its bytes in place, and is safe for concurrent
// use.
type Cell struct {
	data   []byte // the whole cell; nil if a store is not in memory
	head   []byte // the bytes before the first section
	path   string // the file of the cell, if a store is not in memory
	stores Stores // in memory
	header *header
	pages  pageIndex
	urls   *urls.Table
	lists  [2]*lists.Table // by Direction
	ghosts [2]Ghosts
	labels *lists.LabelColumn // nil without labels
	// damage is the first error of a read. If it is set, the bytes have changed since Open.
	damage atomic.Pointer[error]
}

// Open returns the cell in data. It keeps data, and the caller must not change it. It verifies
// every checksum, because one flipped bit anywhere must be found, and the structure of all
// indexes. [Cell.Verify] checks every list, too. An error wraps ErrCorrupt or ErrVersion.
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
	c := &Cell{data: data, head: data[:headerLen+roundUp8(len(h.meta))], stores: AllStores, header: h}
	return c, c.openSections()
}

// openSections opens the sections of the stores in memory.
func (c *Cell) openSections() (err error) {
	h := c.header
	in := func(section int, err error) error { return fmt.Errorf("%s: %w", sectionNames[section], err) }
	if c.pages, err = openPages(h.sections[sectionPages], h.pages, h.keys); err != nil {
		return in(sectionPages, err)
	}
	if c.stores.Has(URLStore) {
		if c.urls, err = urls.Open(h.sections[sectionURLs]); err != nil {
			return in(sectionURLs, err)
		}
		if c.urls.Len() != int(h.pages) {
			return fmt.Errorf("%d URLs of %d pages", c.urls.Len(), h.pages)
		}
	}
	for d := range c.lists {
		if !c.stores.Has(StoreOf(Direction(d))) {
			continue
		}
		if err := c.openLists(d); err != nil {
			return in(sectionForward+d, err)
		}
	}
	if c.labels, err = openLabels(h.sections[sectionLabels]); err != nil {
		return in(sectionLabels, err)
	}
	return nil
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

// Bytes returns the bytes of the cell, nil unless all stores are in memory. The caller must not
// change them.
func (c *Cell) Bytes() []byte { return c.data }

// Len returns the number of pages; ordinals are below it.
func (c *Cell) Len() int { return int(c.header.pages) }

// Range returns the range of UIDs of the cell.
func (c *Cell) Range() uid.Range { return c.header.keys }

// Epoch returns the builder's Options.Epoch.
func (c *Cell) Epoch() uint64 { return c.header.epoch }

// Meta returns the builder's Options.Meta. The caller must not change it.
func (c *Cell) Meta() []byte { return c.header.meta }

// Codec returns the codec of the lists of direction d.
func (c *Cell) Codec(d Direction) lists.Codec { return c.header.codec[d] }

// Sketches returns the section of that name, or an empty slice if there is none. The caller must
// not change it.
func (c *Cell) Sketches() []byte { return c.header.sections[sectionSketches] }

// UID returns the UID of an ordinal, or 0 if the ordinal is not below Len.
func (c *Cell) UID(ord uint32) uid.UID {
	if ord >= c.header.pages {
		return 0
	}
	return c.pages.uid(ord)
}

// Ordinal returns the ordinal of the page u; ok is false if u is no page of the cell.
func (c *Cell) Ordinal(u uid.UID) (ord uint32, ok bool) { return c.pages.ordinal(u) }

// AppendURL appends the URL of an ordinal, or nothing if it is not below Len.
func (c *Cell) AppendURL(dst []byte, ord uint32) []byte {
	return c.urlTable().AppendURL(dst, ord)
}

// Find returns the page of a URL. It compares URLs byte by byte.
func (c *Cell) Find(url string) (ord uint32, ok bool) {
	return c.FindBytes(unsafe.Slice(unsafe.StringData(url), len(url)))
}

// FindBytes is Find for a byte slice. It does not keep the slice.
func (c *Cell) FindBytes(url []byte) (ord uint32, ok bool) {
	return c.urlTable().FindBytes(url, hostHash(url))
}

// hostHash returns the URL table's key of a URL's host.
func hostHash(url []byte) uint64 {
	var buf [128]byte
	return xxhash.Sum64(weburl.AppendHostKey(buf[:0], url))
}

// NumLinks returns the number of links in the lists of direction d.
func (c *Cell) NumLinks(d Direction) int64 { return int64(c.header.links[d]) }

// MaxDegree returns the length of the longest list of direction d.
func (c *Cell) MaxDegree(d Direction) int { return int(c.header.maxDegree[d]) }

// urlTable returns the URLs, which must be in memory.
func (c *Cell) urlTable() *urls.Table {
	if c.urls == nil {
		c.missing(URLStore)
	}
	return c.urls
}

// HasLabels reports whether any link has a label.
func (c *Cell) HasLabels() bool { return c.section(sectionLabels).length > 0 }

// Lists returns the lists of direction d, for passes over the whole cell. Local targets are
// ordinals, the others ghosts.
func (c *Cell) Lists(d Direction) *lists.Table {
	if c.lists[d] == nil {
		c.missing(StoreOf(d))
	}
	return c.lists[d]
}

// Ghosts returns the dictionary of the ghosts of direction d.
func (c *Cell) Ghosts(d Direction) *Ghosts { return &c.ghosts[d] }

// Sizes returns the length in bytes of each section in memory, by its name.
func (c *Cell) Sizes() map[string]int {
	sizes := make(map[string]int, numSections)
	for i, section := range c.header.sections {
		sizes[sectionNames[i]] = len(section)
	}
	return sizes
}

// damaged records the error of a read if it is the first one.
func (c *Cell) damaged(err error) {
	err = fmt.Errorf("cell: %w: %w", ErrCorrupt, err)
	c.damage.CompareAndSwap(nil, &err)
}

// Err returns the error of the first damaged read since Open, or nil. It must be nil unless
// memory failed, because Open has compared the checksums. A damaged list reads as empty.
func (c *Cell) Err() error {
	if err := c.damage.Load(); err != nil {
		return *err
	}
	return nil
}
