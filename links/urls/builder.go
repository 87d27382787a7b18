// The builder. It front-codes URLs as they come, and indexes the runs at the end.

package urls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	// MaxURLBytes is the maximum length of a URL, in bytes.
	MaxURLBytes = 1 << 24
	// MaxURLs is the maximum number of URLs in a table.
	MaxURLs = 1<<32 - 1
	// defaultShift is the logarithm of the number of URLs of a block. A larger block takes less
	// memory and more time.
	defaultShift = 5
	maxShift     = 7 // that a table may have
)

var (
	// ErrDuplicate is wrapped if a URL equals the one before it in its extent.
	ErrDuplicate = errors.New("urls: the URL is there already")
	// ErrTooLarge is wrapped if a URL is longer than MaxURLBytes, or the table already has
	// MaxURLs.
	ErrTooLarge = errors.New("urls: too large for a table")
	// ErrNoExtent is returned by Add if StartExtent was never called.
	ErrNoExtent = errors.New("urls: a URL before the first extent: call StartExtent")
)

// Builder makes one table. URLs must come in the order of their ordinals. It must be used by one
// goroutine at a time.
type Builder struct {
	shift uint

	n         uint32
	pieces    pieceWriter
	runs      []run
	inExtent  bool
	newExtent bool
	hash      uint64 // of the current extent's host

	last []byte // the URL before
	head []byte // the first URL of the current block
	node frontCoded
	leaf frontCoded
}

// frontCoded collects the URLs behind a first one.
type frontCoded struct{ headers, payload []byte }

func (f *frontCoded) add(shared int, url []byte) {
	f.headers = appendHeader(f.headers, shared, len(url)-shared)
	f.payload = append(f.payload, url[shared:]...)
}

// appendTo appends the collected URLs to dst, empties f and returns dst.
func (f *frontCoded) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(f.headers)))
	dst = append(dst, f.headers...)
	dst = append(dst, f.payload...)
	f.headers, f.payload = f.headers[:0], f.payload[:0]
	return dst
}

// pieceWriter writes nodes and their leaves in order.
type pieceWriter struct {
	out     []byte
	offsets ef.Builder
	node    []byte // the current node's first URL
	leaves  []byte // of the current node
	ends    []int  // of leaves
}

// endLeaf ends a leaf that was appended to w.leaves.
func (w *pieceWriter) endLeaf() { w.ends = append(w.ends, len(w.leaves)) }

// endNode writes the current node, which ends with rest, and its leaves.
func (w *pieceWriter) endNode(rest *frontCoded) {
	w.offsets.Add(uint64(len(w.out)))
	w.out = append(w.out, w.node...)
	w.out = rest.appendTo(w.out)
	start := 0
	for _, end := range w.ends {
		w.offsets.Add(uint64(len(w.out)))
		w.out = append(w.out, w.leaves[start:end]...)
		start = end
	}
	w.node, w.leaves, w.ends = w.node[:0], w.leaves[:0], w.ends[:0]
}

// finish returns all pieces, followed by readAhead zero bytes, and their offsets.
func (w *pieceWriter) finish() ([]byte, *ef.Builder) {
	w.offsets.Add(uint64(len(w.out)))
	return append(w.out, make([]byte, readAhead)...), &w.offsets
}

// run is ascending URLs of one extent. It ends where the next one begins.
type run struct {
	start       uint32
	startExtent bool
	searched    bool   // found by its host; otherwise its URLs are strays
	hash        uint64 // of the host
}

// NewBuilder returns a builder of an empty table.
func NewBuilder() *Builder { return &Builder{shift: defaultShift} }

// Len returns the number of URLs added.
func (b *Builder) Len() int { return int(b.n) }

// StartExtent begins an extent. The following URLs must be pages of one host. hostHash is any
// 64-bit hash of the host, and Find must get the same one. A host may have several extents. If an
// extent has no URLs, nothing is stored for it.
func (b *Builder) StartExtent(hostHash uint64) {
	b.hash = hostHash
	b.inExtent, b.newExtent = true, true
}

// Add assigns the next ordinal to url, and copies url. URLs may come in any order within their
// extent, but no URL may come twice. They take the least memory and time if they ascend, as in a
// sorted batch. An error wraps ErrDuplicate only if the two URLs are neighbours.
func (b *Builder) Add(url []byte) error {
	// 1. Check the limits. Nothing has changed if Add returns an error.
	switch {
	case !b.inExtent:
		return ErrNoExtent
	case len(url) > MaxURLBytes:
		return fmt.Errorf("%w: a URL of %d bytes, at most %d", ErrTooLarge, len(url), MaxURLBytes)
	case b.n == MaxURLs:
		return fmt.Errorf("%w: %d URLs already", ErrTooLarge, b.n)
	}
	// 2. Start a run if the extent is new, or if the URL is below the one before it.
	shared := commonPrefix(b.last, url)
	switch {
	case b.newExtent:
		b.runs = append(b.runs, run{start: b.n, startExtent: true, hash: b.hash})
		b.newExtent = false
	case shared == len(url) && shared == len(b.last):
		return fmt.Errorf("%w: %.200q", ErrDuplicate, url)
	case shared == len(url) || shared < len(b.last) && url[shared] < b.last[shared]:
		b.runs = append(b.runs, run{start: b.n, hash: b.hash})
	}
	// 3. The first URL of a block goes to the node, the others to the leaf.
	if b.n&(1<<b.shift-1) == 0 {
		b.startBlock(url)
	} else {
		b.leaf.add(shared, url)
	}
	b.last = append(b.last[:shared], url[shared:]...)
	b.n++
	return nil
}

func appendHeader(dst []byte, shared, added int) []byte {
	if shared|added < 0x80 {
		return append(dst, byte(shared), byte(added))
	}
	dst = binary.AppendUvarint(dst, uint64(shared))
	return binary.AppendUvarint(dst, uint64(added))
}

// startBlock ends the block before, if there is one, and begins one with url.
func (b *Builder) startBlock(url []byte) {
	w := &b.pieces
	b.endBlock()
	if b.n>>b.shift&(nodeLen-1) == 0 {
		if b.n > 0 {
			w.endNode(&b.node)
		}
		w.node = binary.AppendUvarint(w.node, uint64(len(url)))
		w.node = append(w.node, url...)
	} else {
		b.node.add(commonPrefix(b.head, url), url)
	}
	b.head = append(b.head[:0], url...)
}

func (b *Builder) endBlock() {
	if b.n > 0 {
		b.pieces.leaves = b.leaf.appendTo(b.pieces.leaves)
		b.pieces.endLeaf()
	}
}

// AppendTo appends the table to dst and returns it. Add must not be called afterwards. AppendTo
// allocates about the size of the table.
func (b *Builder) AppendTo(dst []byte) []byte {
	if b.n > 0 {
		b.endBlock()
		b.pieces.endNode(&b.node)
	}
	b.inExtent = false
	return b.appendTable(dst)
}

// appendTable appends the table of the written pieces.
func (b *Builder) appendTable(dst []byte) []byte {
	pieces, offsets := b.pieces.finish()
	plain := Table{n: b.n, shift: b.shift, pieces: pieces}
	var err error
	if plain.offsets, _, err = ef.Open(offsets.AppendTo(nil)); err != nil {
		panic(fmt.Sprintf("urls: offsets just written: %v", err))
	}
	// The index of strays reads the URLs, so it needs the plain table.
	runs := newRunIndex(b.runs, b.n)
	strays := newStrayIndex(&plain, runs.strays)
	dst = append(dst, magic...)
	dst = append(dst, byte(b.shift), 0, byte(runs.hosts.keyBits), byte(strays.keyBits))
	dst = append(dst, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, b.n)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(pieces)))
	dst = offsets.AppendTo(dst)
	dst = ef.Append(dst, runs.starts)
	dst = runs.hosts.appendTo(dst)
	dst = strays.appendTo(dst)
	return append(dst, pieces...)
}

// commonPrefix returns the length of the longest common prefix of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
