// Batch: the URLs of many pages, and the pages of many URLs, read at once.

package cell

import (
	"unsafe"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/urls"
)

// HostHash returns FindURLs's key of the URL's host: xxhash64 of its host key, see package
// weburl. Its upper bits are the host's slot.
func HostHash(url string) uint64 { return hostHash(bytesOf(url)) }

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// ReadURLs reads the URLs of pages[i] of cells[i], for at most BatchLen pages; AppendURL returns
// them. It keeps cells, but not pages, until the next read.
func (b *Batch) ReadURLs(cells []*Cell, pages []uid.UID) {
	b.cells = cells[:len(pages)]
	b.find(pages)
	var nodes, leaves [BatchLen]uint64
	for i, c := range b.cells {
		nodes[i], leaves[i] = c.urlTable().Pieces(b.ords[i])
	}
	for i, c := range b.cells {
		b.touched |= c.urlTable().Touch(nodes[i]) | c.urlTable().Touch(leaves[i])
	}
}

// AppendURL appends the URL of page i; ok is false if there is no such page.
func (b *Batch) AppendURL(dst []byte, i int) (_ []byte, ok bool) {
	if !b.known[i] {
		return dst, false
	}
	return b.cells[i].urlTable().AppendURL(dst, b.ords[i]), true
}

// FindURLs finds the pages of names[i] in cells[i], for at most BatchLen URLs; hosts[i] must be
// the HostHash of the URL. UID returns the results. It keeps cells, but nothing else, until the
// next read.
func (b *Batch) FindURLs(cells []*Cell, names []string, hosts []uint64) {
	b.cells = cells[:len(names)]
	var runs [BatchLen]urls.Runs
	var nodes, leaves [BatchLen]uint64
	for i, c := range b.cells {
		runs[i] = c.urlTable().Runs(hosts[i])
		if first, ok := c.urlTable().First(runs[i]); ok {
			nodes[i], leaves[i] = c.urlTable().Pieces(first)
		}
	}
	touched := uint64(0)
	for i, c := range b.cells {
		touched |= c.urlTable().Touch(nodes[i]) | c.urlTable().Touch(leaves[i])
	}
	for i, c := range b.cells {
		b.ords[i], b.known[i] = c.urlTable().FindIn(bytesOf(names[i]), runs[i])
	}
	for i, c := range b.cells {
		if b.known[i] {
			touched |= c.pages.table.touchMark(b.ords[i])
		}
	}
	b.touched = touched
}

// UID returns page i; ok is false if there is none.
func (b *Batch) UID(i int) (_ uid.UID, ok bool) {
	if !b.known[i] {
		return 0, false
	}
	return b.cells[i].UID(b.ords[i]), true
}
