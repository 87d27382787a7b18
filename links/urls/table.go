// A table over its bytes: opening, and its pieces.

package urls

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	magic       = "tfUR\x01"
	headerBytes = 24

	nodeShift = 4
	// nodeLen is the number of blocks with their first URLs in one node.
	nodeLen = 1 << nodeShift

	// readAhead is the number of zero bytes after the pieces.
	readAhead = 8
)

// ErrCorrupt is wrapped by the errors of Open and Check if the bytes are no table.
var ErrCorrupt = errors.New("urls: damaged table")

// Table is a table of URLs over bytes. It does not own or change them. Many goroutines may use it
// at once.
type Table struct {
	n       uint32
	shift   uint        // a block has 1 << shift URLs
	offsets ef.Sequence // of pieces: a node, its leaves, the next node, ...
	pieces  []byte      // followed by readAhead bytes

	starts ef.Sequence // of the stretches of ordinals, then n
	hosts  hashIndex   // hash of a host -> stretch
	strays hashIndex   // hash of a URL -> ordinal
}

// Open returns the table in b. It keeps b, which must not change, and allocates nothing but the
// Table. b may be any bytes; an error wraps ErrCorrupt. Open verifies the index and does not read
// the pieces. If these are damaged, no method panics or reads past b, but URLs may be wrong; see
// Check.
func Open(b []byte) (*Table, error) {
	t, err := open(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return t, nil
}

func open(b []byte) (*Table, error) {
	// 1. Read the header. Unknown settings are rejected, because a later version may use them.
	if len(b) < headerBytes || string(b[:len(magic)]) != magic {
		return nil, errors.New("it does not begin as a table of URLs of version 1 does")
	}
	t := &Table{
		shift:  uint(b[5]),
		n:      binary.LittleEndian.Uint32(b[12:]),
		hosts:  hashIndex{keyBits: uint(b[7])},
		strays: hashIndex{keyBits: uint(b[8])},
	}
	pieceBytes := binary.LittleEndian.Uint64(b[16:])
	if t.shift > maxShift || b[6]|b[9]|b[10]|b[11] != 0 {
		return nil, errors.New("unknown settings in the header")
	}
	// 2. Open the index, one part behind another.
	rest := b[headerBytes:]
	var used int
	var err error
	if t.offsets, used, err = ef.Open(rest); err != nil {
		return nil, fmt.Errorf("offsets of blocks: %w", err)
	}
	rest = rest[used:]
	if t.starts, used, err = ef.Open(rest); err != nil {
		return nil, fmt.Errorf("starts of stretches: %w", err)
	}
	rest = rest[used:]
	if rest, err = t.hosts.open(rest, uint64(t.starts.Len())-1); err != nil {
		return nil, fmt.Errorf("index of hosts: %w", err)
	}
	if rest, err = t.strays.open(rest, uint64(t.n)); err != nil {
		return nil, fmt.Errorf("index of strays: %w", err)
	}
	// 3. Check that the pieces fit the offsets, because body slices them without a check.
	t.pieces = rest
	blocks := t.blocks()
	count := blocks + (blocks+nodeLen-1)>>nodeShift
	switch {
	case t.offsets.Len() != count+1:
		return nil, fmt.Errorf("%d offsets for %d pieces", t.offsets.Len(), count)
	case t.starts.Len() == 0 || t.starts.Last() != uint64(t.n):
		return nil, fmt.Errorf("the stretches end at %d of %d URLs", t.starts.Last(), t.n)
	case uint64(len(t.pieces)) != pieceBytes || t.offsets.Last()+readAhead != pieceBytes:
		return nil, fmt.Errorf("%d bytes of pieces, want %d", len(t.pieces), pieceBytes)
	}
	return t, nil
}

// Len returns the number of URLs.
func (t *Table) Len() int { return int(t.n) }

// blocks returns the number of blocks.
func (t *Table) blocks() int { return int((uint64(t.n) + 1<<t.shift - 1) >> t.shift) }

// piece is a node or a leaf, split: front-coded URLs behind a first one.
type piece struct {
	body    []byte // all of it, followed by readAhead bytes
	first   []byte // URL of a node
	headers []byte
	payload int // index of the payload in body; 0 if the piece is damaged
}

// body returns the bytes of a piece, followed by readAhead bytes.
func (t *Table) body(k int) []byte {
	lo, hi := t.offsets.Pair(k)
	return t.pieces[lo : hi+readAhead : hi+readAhead]
}

// node returns the node of block k: the first URLs of nodeLen blocks. If the node is damaged, the
// first URL may be empty, and the headers end early.
func (t *Table) node(k int) (p piece) {
	k >>= nodeShift
	p.body = t.body(k + k<<nodeShift)
	var end int
	if p.first, end = firstURL(p.body); end > 0 {
		p.split(end)
	}
	return p
}

// firstURL returns the URL at the front of a node and its end. If the node is damaged, the end is
// 0.
func firstURL(body []byte) (url []byte, end int) {
	size, at := uvarint(body[:len(body)-readAhead], 0)
	if at < 0 || size > MaxURLBytes || size > len(body)-readAhead-at {
		return nil, 0
	}
	return body[at : at+size], at + size
}

// leaf returns the leaf of block k: its URLs except the first one.
func (t *Table) leaf(k int) (p piece) {
	p.body = t.body(k + k>>nodeShift + 1)
	p.split(0)
	return p
}

// split finds headers and payload from byte at of the body on.
func (p *piece) split(at int) {
	end := len(p.body) - readAhead
	size, at := uvarint(p.body[:end], at)
	if at < 0 || size > end-at {
		return
	}
	p.headers = p.body[at : at+size]
	p.payload = at + size
}

// uvarint reads an integer of 28 bits at most from byte at of b on. It returns the index of the
// next byte, or -1 if there is no such integer.
func uvarint(b []byte, at int) (v, next int) {
	for shift := uint(0); shift < 28; shift += 7 {
		if at >= len(b) {
			return 0, -1
		}
		c := b[at]
		at++
		v |= int(c&0x7f) << shift
		if c < 0x80 {
			return v, at
		}
	}
	return 0, -1
}

// headers reads the pairs of a piece one after another.
type headers struct {
	b  []byte
	at int
}

// next returns the number of bytes shared with the URL before, and the number of bytes behind
// them. ok is false after the last one, or at damage.
func (h *headers) next() (shared, size int, ok bool) {
	if at := h.at; at+1 < len(h.b) && h.b[at]|h.b[at+1] < 0x80 {
		h.at = at + 2
		return int(h.b[at]), int(h.b[at+1]), true
	}
	return h.nextLong()
}

func (h *headers) nextLong() (shared, size int, ok bool) {
	shared, at := uvarint(h.b, h.at)
	if at < 0 {
		return 0, 0, false
	}
	if size, h.at = uvarint(h.b, at); h.at < 0 || size > MaxURLBytes {
		h.at = len(h.b)
		return 0, 0, false
	}
	return shared, size, true
}
