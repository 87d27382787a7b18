// New pages of a row: front-coded URLs in blocks by ascending UIDs, and an index by the hashes
// of the URLs.

package delta

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/uid"
)

const pagesHeaderLen = 16

// MaxURL is the maximum length of a page's URL in bytes.
const MaxURL = 1 << 24

// pages is a verified section. The zero value has no page.
type pages struct {
	count  int
	first  []byte // first UID of each block, 8 bytes each
	starts []byte // start of each block in data, 4 bytes each
	hashes []byte // by hash, then URL; 4 bytes each
	places []byte // place of each page in hashes, 4 bytes each
	data   []byte
}

// urlHash returns the hash of a URL in the index.
func urlHash(url []byte) uint32 { return uint32(xxhash.Sum64(url) >> 32) }

func (p *pages) firstUID(block int) uid.UID {
	return uid.UID(binary.LittleEndian.Uint64(p.first[block*8:]))
}

func (p *pages) start(block int) int { return int(binary.LittleEndian.Uint32(p.starts[block*4:])) }

// pageCursor iterates over the pages of a verified section.
type pageCursor struct {
	pages *pages
	place int // of the next page
	rest  []byte
	uid   uid.UID
	url   []byte // memory of the cursor
}

func (c *pageCursor) next() bool {
	if c.place >= c.pages.count {
		return false
	}
	shared := uint64(0)
	if c.place%blockKeys == 0 {
		block := c.place / blockKeys
		c.uid, c.rest = c.pages.firstUID(block), c.pages.data[c.pages.start(block):]
	} else {
		gap, n := binary.Uvarint(c.rest)
		c.uid, c.rest = c.uid+uid.UID(gap)+1, c.rest[n:]
		shared, n = binary.Uvarint(c.rest)
		c.rest = c.rest[n:]
	}
	length, n := binary.Uvarint(c.rest)
	end := n + int(length)
	c.url = append(c.url[:shared], c.rest[n:end]...)
	c.rest = c.rest[end:]
	c.place++
	return true
}

// cursorAt returns a cursor at a place. It uses buf for the URL.
func (p *pages) cursorAt(place int, buf []byte) pageCursor {
	c := pageCursor{pages: p, place: place / blockKeys * blockKeys, url: buf}
	for c.place <= place && c.next() {
	}
	return c
}

// place returns the index of u among the pages of the section; ok is false if u is missing.
func (p *pages) place(u uid.UID) (place int, ok bool) {
	block := sort.Search(len(p.first)/8, func(i int) bool { return p.firstUID(i) > u }) - 1
	if block < 0 {
		return 0, false
	}
	place = block * blockKeys
	here, at := p.firstUID(block), p.start(block)
	for here != u {
		length, end := uvarintAt(p.data, at)
		at = end + int(length)
		if place++; place == p.count || place%blockKeys == 0 || here > u {
			return 0, false
		}
		var gap uint64
		gap, at = uvarintAt(p.data, at)
		here += uid.UID(gap) + 1
		_, at = uvarintAt(p.data, at) // number of shared bytes
	}
	return place, true
}

// has reports whether u is a page of the section.
func (p *pages) has(u uid.UID) bool {
	_, ok := p.place(u)
	return ok
}

// appendURL appends the URL of a page; it returns false if the page is missing.
func (p *pages) appendURL(dst []byte, u uid.UID) ([]byte, bool) {
	place, ok := p.place(u)
	if !ok {
		return dst, false
	}
	var buf [256]byte
	c := p.cursorAt(place, buf[:0])
	return append(dst, c.url...), true
}

// byHash returns the hash and the place of the i-th page in hash order.
func (p *pages) byHash(i int) (hash uint32, place int) {
	return binary.LittleEndian.Uint32(p.hashes[i*4:]), int(binary.LittleEndian.Uint32(p.places[i*4:]))
}

// find returns the page of a URL. It compares the URL itself, too, because hashes may be equal.
func (p *pages) find(url []byte) (uid.UID, bool) {
	if p.count == 0 {
		return 0, false
	}
	hash := urlHash(url)
	var buf [256]byte
	i, found := sort.Find(p.count, func(i int) int {
		h, place := p.byHash(i)
		if c := cmp.Compare(hash, h); c != 0 {
			return c
		}
		at := p.cursorAt(place, buf[:0])
		return bytes.Compare(url, at.url)
	})
	if !found {
		return 0, false
	}
	_, place := p.byHash(i)
	at := p.cursorAt(place, buf[:0])
	return at.uid, true
}

// openPages opens and verifies a whole section.
func openPages(b []byte) (pages, error) {
	if len(b) == 0 {
		return pages{}, nil
	}
	if len(b) < pagesHeaderLen || len(b)%8 != 0 {
		return pages{}, fmt.Errorf("pages of %d bytes", len(b))
	}
	count, dataLen := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	room := uint64(len(b) - pagesHeaderLen)
	if count == 0 || count > room || dataLen > min(room, maxData) ||
		pagesHeaderLen+8*blocksOf(int(count))+roundUp8(4*blocksOf(int(count)))+8*int(count)+roundUp8(int(dataLen)) != len(b) {
		return pages{}, fmt.Errorf("%d pages and %d bytes of data do not make %d bytes", count, dataLen, len(b))
	}
	p := splitPages(b)
	if err := p.verify(); err != nil {
		return p, err
	}
	return p, p.verifyHashes()
}

// splitPages returns the section in b. The header must be valid.
func splitPages(b []byte) pages {
	if len(b) == 0 {
		return pages{}
	}
	p := pages{count: int(binary.LittleEndian.Uint64(b))}
	dataLen := int(binary.LittleEndian.Uint64(b[8:]))
	blocks := blocksOf(p.count)
	firstEnd := pagesHeaderLen + 8*blocks
	startsEnd := firstEnd + roundUp8(4*blocks)
	hashesEnd := startsEnd + 4*p.count
	placesEnd := hashesEnd + 4*p.count
	p.first, p.starts = b[pagesHeaderLen:firstEnd], b[firstEnd:startsEnd]
	p.hashes, p.places = b[startsEnd:hashesEnd], b[hashesEnd:placesEnd]
	p.data = b[placesEnd : placesEnd+dataLen]
	return p
}

// verify checks every page in the order of a cursor.
func (p *pages) verify() error {
	var last uid.UID
	rest, length := p.data, uint64(0) // unread bytes, and the length of the URL before
	for place := range p.count {
		key, shared := last, uint64(0)
		if place%blockKeys == 0 {
			block := place / blockKeys
			// 1. Each block must begin at the end of the one before, and with a whole URL.
			if p.start(block) != len(p.data)-len(rest) {
				return fmt.Errorf("block %d of pages does not begin behind the one before", block)
			}
			key = p.firstUID(block)
		} else {
			gap, n := binary.Uvarint(rest)
			if n <= 0 {
				return fmt.Errorf("page %d has no UID", place)
			}
			key, rest = last+uid.UID(gap)+1, rest[n:]
			if shared, n = binary.Uvarint(rest); n <= 0 || shared > length {
				return fmt.Errorf("page %d shares what is not there", key)
			}
			rest = rest[n:]
		}
		// 2. UIDs must ascend. This also finds a gap that overflows.
		if key <= last {
			return fmt.Errorf("page %d is not above %d", key, last)
		}
		// 3. The URL must end within the data and respect MaxURL.
		suffix, n := binary.Uvarint(rest)
		if n <= 0 || suffix > uint64(len(rest)-n) || shared+suffix > MaxURL {
			return fmt.Errorf("the URL of page %d has no end", key)
		}
		length, last, rest = shared+suffix, key, rest[n+int(suffix):]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the last page", len(rest))
	}
	return nil
}

// verifyHashes checks that every page is found by its URL. It reads each page from its block's
// start, so damaged data takes no longer than valid data.
func (p *pages) verifyHashes() error {
	var url, before []byte
	for i := range p.count {
		hash, place := p.byHash(i)
		if place >= p.count {
			return fmt.Errorf("a hash leads to page %d of %d", place, p.count)
		}
		at := p.cursorAt(place, url)
		url = at.url
		if urlHash(url) != hash {
			return fmt.Errorf("page %d is found by another hash than its own", at.uid)
		}
		if i > 0 {
			if last, _ := p.byHash(i - 1); last > hash || last == hash && bytes.Compare(before, url) >= 0 {
				return fmt.Errorf("page %d is out of the order of hashes", at.uid)
			}
		}
		before = append(before[:0], url...)
	}
	return nil
}

// pagesWriter builds a section. Pages must come by ascending UIDs.
type pagesWriter struct {
	uids   []uid.UID
	starts []uint32
	hashes []uint32
	data   []byte
	last   []byte
}

func (w *pagesWriter) add(u uid.UID, url []byte) error {
	shared := 0
	if len(w.uids)%blockKeys == 0 {
		w.starts = append(w.starts, uint32(len(w.data)))
	} else {
		for shared < min(len(url), len(w.last)) && url[shared] == w.last[shared] {
			shared++
		}
		w.data = binary.AppendUvarint(w.data, uint64(u-w.uids[len(w.uids)-1])-1)
		w.data = binary.AppendUvarint(w.data, uint64(shared))
	}
	w.data = binary.AppendUvarint(w.data, uint64(len(url)-shared))
	w.data = append(w.data, url[shared:]...)
	w.uids = append(w.uids, u)
	w.hashes = append(w.hashes, urlHash(url))
	w.last = append(w.last[:0], url...)
	if len(w.data) > maxData {
		return fmt.Errorf("delta: %w: URLs of over %d bytes", ErrTooLarge, maxData)
	}
	return nil
}

// appendTo appends the section, or nothing if there is no page. Two pages with one URL are an
// error.
func (w *pagesWriter) appendTo(dst []byte) ([]byte, error) {
	if len(w.uids) == 0 {
		return dst, nil
	}
	// 1. Write the index by UID. byHash needs it, because it reads URLs through a cursor.
	p := pages{count: len(w.uids), data: w.data}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(w.uids)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(w.data)))
	start := len(dst)
	for i := 0; i < len(w.uids); i += blockKeys {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w.uids[i]))
	}
	firstEnd := len(dst)
	for _, start := range w.starts {
		dst = binary.LittleEndian.AppendUint32(dst, start)
	}
	p.first, p.starts = dst[start:firstEnd], dst[firstEnd:]
	if len(w.starts)%2 == 1 {
		dst = append(dst, 0, 0, 0, 0)
	}
	// 2. Write the index by hash, then the URLs.
	places, err := w.byHash(&p)
	if err != nil {
		return dst, err
	}
	for _, place := range places {
		dst = binary.LittleEndian.AppendUint32(dst, w.hashes[place])
	}
	for _, place := range places {
		dst = binary.LittleEndian.AppendUint32(dst, place)
	}
	dst = append(dst, w.data...)
	return append(dst, make([]byte, roundUp8(len(w.data))-len(w.data))...), nil
}

// byHash returns the places of the pages in the order of hash, then URL.
func (w *pagesWriter) byHash(p *pages) ([]uint32, error) {
	places := make([]uint32, len(w.uids))
	for i := range places {
		places[i] = uint32(i)
	}
	var a, b []byte
	slices.SortFunc(places, func(i, j uint32) int {
		if c := cmp.Compare(w.hashes[i], w.hashes[j]); c != 0 || i == j {
			return c
		}
		at, bt := p.cursorAt(int(i), a), p.cursorAt(int(j), b)
		a, b = at.url, bt.url
		return bytes.Compare(a, b)
	})
	for i := 1; i < len(places); i++ {
		if w.hashes[places[i]] != w.hashes[places[i-1]] {
			continue
		}
		at, bt := p.cursorAt(int(places[i-1]), a), p.cursorAt(int(places[i]), b)
		if a, b = at.url, bt.url; bytes.Equal(a, b) {
			return nil, fmt.Errorf("delta: %w: pages %d and %d have one URL", ErrConflict, at.uid, bt.uid)
		}
	}
	return places, nil
}
