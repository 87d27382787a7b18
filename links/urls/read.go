// From ordinals to URLs.

package urls

import (
	"errors"
	"fmt"
	"iter"
)

// part is a part of a URL under construction: from byte shared on, the bytes of the payload from
// byte first on.
type part struct {
	shared, first int32
}

// AppendURL appends the URL of an ordinal to dst and returns it. It allocates only if dst has too
// little room. If the ordinal is not below Len, it returns dst unchanged.
func (t *Table) AppendURL(dst []byte, ordinal uint32) []byte {
	if ordinal >= t.n {
		return dst
	}
	k := int(ordinal >> t.shift)
	within := int(ordinal & (1<<t.shift - 1))
	if within == 0 {
		return t.appendHead(dst, k, MaxURLBytes)
	}
	p := t.leaf(k)
	var parts [1 << maxShift]part
	depth, size := p.parts(parts[:], within)
	if depth == 0 {
		return dst
	}
	start := len(dst)
	dst = t.appendHead(dst, k, int(parts[0].shared))
	return p.appendParts(dst, start, parts[:depth], size, MaxURLBytes)
}

// appendHead appends the first URL of block k, limit bytes of it at most.
func (t *Table) appendHead(dst []byte, k, limit int) []byte {
	p := t.node(k)
	within := k & (nodeLen - 1)
	if within == 0 {
		return append(dst, p.first[:min(limit, len(p.first))]...)
	}
	var parts [nodeLen]part
	depth, size := p.parts(parts[:], within)
	if depth == 0 {
		return dst
	}
	start := len(dst)
	dst = append(dst, p.first[:min(limit, int(parts[0].shared), len(p.first))]...)
	return p.appendParts(dst, start, parts[:depth], size, limit)
}

// parts finds the parts of URL i of the piece; the first URL has number 0. The last part has the
// returned number of bytes. If the piece is damaged, depth is 0. parts must have more room than
// i.
//
// A URL cuts off a part if it shares fewer bytes than that part begins with. So nothing is
// decoded unless it is in the result.
func (p *piece) parts(parts []part, i int) (depth, size int) {
	h := headers{b: p.headers}
	first := 0
	for range i {
		shared, n, ok := h.next()
		if !ok {
			return 0, 0
		}
		for depth > 0 && int(parts[depth-1].shared) >= shared {
			depth--
		}
		parts[depth] = part{int32(shared), int32(first)}
		depth++
		first += n
		size = n
	}
	return depth, size
}

// appendParts appends the parts of a URL, up to limit bytes of the URL in all. The URL must begin
// at start of dst and end before the first part.
func (p *piece) appendParts(dst []byte, start int, parts []part, size, limit int) []byte {
	for i, next := range parts[1:] {
		room := min(limit, int(next.shared)) - (len(dst) - start)
		dst = append(dst, p.bytes(int(parts[i].first), room)...)
	}
	last := parts[len(parts)-1]
	return append(dst, p.bytes(int(last.first), min(size, limit-(len(dst)-start)))...)
}

// bytes returns n bytes of the payload from byte first on, or fewer at the end of the piece.
func (p *piece) bytes(first, n int) []byte {
	at := p.payload + first
	if n = min(n, len(p.body)-readAhead-at); n <= 0 {
		return nil
	}
	return p.body[at : at+n]
}

// Iterator goes through the URLs in the order of their ordinals. It is much faster than
// AppendURL. It allocates two buffers for the longest URL. It must be used by one goroutine at a
// time.
type Iterator struct {
	t    *Table
	next uint32
	node walk
	leaf walk
}

// walk goes through the URLs of a piece.
type walk struct {
	p     piece
	h     headers
	first int // byte of the payload
	url   []byte
}

func (w *walk) start(p piece) {
	w.p, w.h, w.first = p, headers{b: p.headers}, 0
}

// step goes to the next URL. ok is false if the piece is damaged.
func (w *walk) step() (ok bool) {
	shared, n, ok := w.h.next()
	if !ok || shared > len(w.url) {
		return false
	}
	w.url = append(w.url[:shared], w.p.bytes(w.first, n)...)
	w.first += n
	return true
}

// Scan returns an iterator over the URLs from ordinal from on.
func (t *Table) Scan(from uint32) *Iterator {
	it := &Iterator{t: t, next: min(from, t.n)}
	if it.next == t.n {
		return it
	}
	k := int(from >> t.shift)
	it.next = uint32(k) << t.shift
	if within := k & (nodeLen - 1); within > 0 {
		// Leave the node as the step to the block before k would have left it.
		it.startNode(k)
		for range within - 1 {
			if !it.node.step() {
				it.next = t.n
				return it
			}
		}
	}
	for it.next < from {
		if _, _, ok := it.Next(); !ok {
			break
		}
	}
	return it
}

func (it *Iterator) startNode(k int) {
	it.node.start(it.t.node(k))
	it.node.url = append(it.node.url[:0], it.node.p.first...)
}

// Next returns the next ordinal and its URL. The URL is valid until the next call. ok is false
// after the last one, or earlier if the table is damaged.
func (it *Iterator) Next() (ordinal uint32, url []byte, ok bool) {
	if it.next >= it.t.n {
		return 0, nil, false
	}
	if it.next&(1<<it.t.shift-1) == 0 {
		ok = it.startBlock(int(it.next >> it.t.shift))
	} else {
		ok = it.leaf.step()
	}
	if !ok {
		it.next = it.t.n
		return 0, nil, false
	}
	it.next++
	return it.next - 1, it.leaf.url, true
}

// startBlock goes to the first URL of block k. The iterator must have been in the block before
// it.
func (it *Iterator) startBlock(k int) (ok bool) {
	if k&(nodeLen-1) == 0 {
		it.startNode(k)
	} else if !it.node.step() {
		return false
	}
	it.leaf.start(it.t.leaf(k))
	it.leaf.url = append(it.leaf.url[:0], it.node.url...)
	return true
}

// All yields the ordinals from from on with their URLs. A URL is valid until the next iteration.
func (t *Table) All(from uint32) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		it := t.Scan(from)
		for {
			ordinal, url, ok := it.Next()
			if !ok || !yield(ordinal, url) {
				return
			}
		}
	}
}

// Check reads the whole table. It returns an error that wraps ErrCorrupt if a piece does not hold
// its URLs. If hostHash is not nil, every URL must also be found at its ordinal by the hash of
// its host.
func (t *Table) Check(hostHash func(url []byte) uint64) error {
	blocks := t.blocks()
	for k := range blocks {
		count := min(1<<t.shift, int(t.n)-k<<t.shift)
		if k&(nodeLen-1) == 0 {
			p := t.node(k)
			if err := p.check(len(p.first), min(nodeLen, blocks-k)); err != nil {
				return fmt.Errorf("%w: node of block %d: %w", ErrCorrupt, k, err)
			}
		}
		p := t.leaf(k)
		if err := p.check(len(t.appendHead(nil, k, MaxURLBytes+1)), count); err != nil {
			return fmt.Errorf("%w: block %d: %w", ErrCorrupt, k, err)
		}
	}
	if hostHash == nil {
		return nil
	}
	for ordinal, url := range t.All(0) {
		if got, ok := t.FindBytes(url, hostHash(url)); !ok || got != ordinal {
			return fmt.Errorf("%w: the URL of ordinal %d is not found", ErrCorrupt, ordinal)
		}
	}
	return nil
}

// check verifies that the headers describe count URLs and that the payload takes the rest of
// the piece. size is the length of the first URL.
func (p *piece) check(size, count int) error {
	h := headers{b: p.headers}
	first := 0
	for i := 1; i < count; i++ {
		shared, n, ok := h.next()
		if !ok || shared > size {
			return fmt.Errorf("URL %d of %d has no place", i, count)
		}
		size = shared + len(p.bytes(first, n))
		if size > MaxURLBytes {
			return fmt.Errorf("URL %d of %d is too long", i, count)
		}
		first += n
	}
	if p.payload == 0 || h.at != len(h.b) || p.payload+first+readAhead != len(p.body) {
		return errors.New("it does not end with its last URL")
	}
	return nil
}
