// Links of a row in one direction: entries in blocks by ascending keys. A filter rejects most
// keys without an entry.

package delta

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// blockKeys is the number of entries or pages in a block. The index has one element for each
	// block.
	blockKeys = 16
	// filterBitsPerKey makes the filter wrong for about one in fifty of the keys without an
	// entry.
	filterBitsPerKey = 12
	linksHeaderLen   = 32
	// maxData is the maximum length of a section's data, because offsets have 32 bits.
	maxData = math.MaxUint32
)

// filterBits returns the index of a filter word, below words, and the bits in it for a key. hash
// is the key's uid.Mix.
func filterBits(hash, words uint64) (word, mask uint64) {
	word, _ = bits.Mul64(hash, words)
	return word, 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63) | 1<<(hash>>18&63)
}

// links is a verified section. The zero value has no entry.
type links struct {
	keys    int
	changes int64
	first   []byte // first key of each block, 8 bytes each
	filter  []byte // 8 bytes a word
	starts  []byte // start of each block in data, 4 bytes each
	data    []byte
}

func blocksOf(n int) int { return (n + blockKeys - 1) / blockKeys }

func roundUp8(n int) int { return (n + 7) &^ 7 }

func (l *links) firstKey(block int) uid.UID {
	return uid.UID(binary.LittleEndian.Uint64(l.first[block*8:]))
}

func (l *links) start(block int) int { return int(binary.LittleEndian.Uint32(l.starts[block*4:])) }

// mayHave reports whether there may be an entry of a key; false is certain. hash is the key's
// uid.Mix.
func (l *links) mayHave(hash uint64) bool {
	if l.keys == 0 {
		return false
	}
	word, mask := filterBits(hash, uint64(len(l.filter)/8))
	return binary.LittleEndian.Uint64(l.filter[word*8:])&mask == mask
}

// find returns the body of key's entry. hash must be the key's uid.Mix.
func (l *links) find(key uid.UID, hash uint64) (body []byte, ok bool) {
	if !l.mayHave(hash) {
		return nil, false
	}
	// Invariant: blocks before lo begin at key or below, blocks from hi on above it.
	lo, hi := 0, len(l.first)/8
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.firstKey(mid) <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil, false
	}
	c := cursor{links: l, place: (lo - 1) * blockKeys}
	for end := c.place + blockKeys; c.place < end && c.next() && c.key <= key; {
		if c.key == key {
			return c.body(), true
		}
	}
	return nil, false
}

// uvarint is binary.Uvarint, faster for numbers of one byte, because most are.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

// appendUvarint is binary.AppendUvarint, faster for numbers of one byte, because most are.
func appendUvarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, v)
}

// cursor iterates over the entries of a verified section.
type cursor struct {
	links      *links
	place      int // of the next entry
	key        uid.UID
	begin, end int // bounds of the entry in the data
}

// next moves to the next entry. It returns false at the end.
func (c *cursor) next() bool {
	l := c.links
	if c.place >= l.keys {
		return false
	}
	data, at := l.data, c.end
	if c.place%blockKeys == 0 {
		block := c.place / blockKeys
		c.key, at = l.firstKey(block), l.start(block)
	} else {
		gap := uint64(data[at])
		if at++; gap >= 0x80 {
			gap, at = uvarintAt(data, at-1)
		}
		c.key += uid.UID(gap) + 1
	}
	length := uint64(data[at])
	if at++; length >= 0x80 {
		length, at = uvarintAt(data, at-1)
	}
	c.begin, c.end = at, at+int(length)
	c.place++
	return true
}

// uvarintAt returns the number at offset at of b, and the offset behind it.
func uvarintAt(b []byte, at int) (uint64, int) {
	v, n := binary.Uvarint(b[at:])
	return v, at + n
}

// body returns the body of the entry.
func (c *cursor) body() []byte { return c.links.data[c.begin:c.end:c.end] }

// openLinks opens and verifies a whole section.
func openLinks(b []byte) (links, error) {
	if len(b) == 0 {
		return links{}, nil
	}
	if len(b) < linksHeaderLen || len(b)%8 != 0 {
		return links{}, fmt.Errorf("links of %d bytes", len(b))
	}
	keys, words := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	dataLen := binary.LittleEndian.Uint64(b[24:])
	room := uint64(len(b) - linksHeaderLen)
	if keys == 0 || keys > room || words == 0 || words > room/8 || dataLen > min(room, maxData) ||
		linksHeaderLen+8*blocksOf(int(keys))+8*int(words)+roundUp8(4*blocksOf(int(keys)))+roundUp8(int(dataLen)) != len(b) {
		return links{}, fmt.Errorf("%d keys, %d words of filter and %d bytes of data do not make %d bytes", keys, words, dataLen, len(b))
	}
	l := splitLinks(b)
	return l, l.verify()
}

// splitLinks returns the section in b. The header must be valid.
func splitLinks(b []byte) links {
	if len(b) == 0 {
		return links{}
	}
	l := links{keys: int(binary.LittleEndian.Uint64(b)), changes: int64(binary.LittleEndian.Uint64(b[16:]))}
	words, dataLen := int(binary.LittleEndian.Uint64(b[8:])), int(binary.LittleEndian.Uint64(b[24:]))
	blocks := blocksOf(l.keys)
	firstEnd := linksHeaderLen + 8*blocks
	filterEnd := firstEnd + 8*words
	startsEnd := filterEnd + roundUp8(4*blocks)
	l.first, l.filter = b[linksHeaderLen:firstEnd], b[firstEnd:filterEnd]
	l.starts, l.data = b[filterEnd:startsEnd], b[startsEnd:startsEnd+dataLen]
	return l
}

// verify checks every entry in the order of a cursor.
func (l *links) verify() error {
	var e entry
	var last uid.UID
	rest, changes := l.data, int64(0)
	for place := range l.keys {
		key := last
		if place%blockKeys == 0 {
			block := place / blockKeys
			// 1. Each block must begin at the end of the one before.
			if l.start(block) != len(l.data)-len(rest) {
				return fmt.Errorf("block %d does not begin behind the one before", block)
			}
			key = l.firstKey(block)
		} else {
			gap, n := binary.Uvarint(rest)
			if n <= 0 {
				return fmt.Errorf("entry %d has no key", place)
			}
			key, rest = last+uid.UID(gap)+1, rest[n:]
		}
		// 2. Keys must ascend. This also finds a gap that overflows.
		if key <= last {
			return fmt.Errorf("key %d of entry %d is not above %d", key, place, last)
		}
		// 3. The entry must be readable, and the filter must pass its key.
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return fmt.Errorf("the entry of key %d has no end", key)
		}
		if !readEntry(rest[n:n+int(length)], key, &e) || !disjoint(e.adds, e.deletes) || !e.labelsAreSound() {
			return fmt.Errorf("the entry of key %d cannot be read", key)
		}
		if !l.mayHave(uid.Mix(uint64(key))) {
			return fmt.Errorf("the filter does not know key %d", key)
		}
		changes += int64(e.changes())
		last, rest = key, rest[n+int(length):]
	}
	if len(rest) > 0 || changes != l.changes {
		return fmt.Errorf("%d bytes behind the last entry; %d changes, not %d", len(rest), changes, l.changes)
	}
	return nil
}

// linksWriter builds a section. Entries must come by ascending keys.
type linksWriter struct {
	changes int64
	keys    []uid.UID
	starts  []uint32
	data    []byte
	body    []byte
}

// expect makes room for that many keys and bytes of data.
func (w *linksWriter) expect(keys, data int) {
	w.keys = slices.Grow(w.keys, keys)
	w.starts = slices.Grow(w.starts, blocksOf(keys))
	w.data = slices.Grow(w.data, data)
}

// add adds the entry of a key.
func (w *linksWriter) add(key uid.UID, e *entry) error {
	w.body = appendEntry(w.body[:0], key, e)
	w.changes += int64(e.changes())
	return w.addBody(key, w.body)
}

// addBody adds an entry by its body. It does not count the changes; the caller must.
func (w *linksWriter) addBody(key uid.UID, body []byte) error {
	data := w.data
	if n := len(w.keys); n%blockKeys == 0 {
		w.starts = append(w.starts, uint32(len(data)))
	} else {
		data = appendUvarint(data, uint64(key-w.keys[n-1])-1)
	}
	data = append(appendUvarint(data, uint64(len(body))), body...)
	w.data, w.keys = data, append(w.keys, key)
	if len(data) > maxData {
		return fmt.Errorf("delta: %w: links of over %d bytes", ErrTooLarge, maxData)
	}
	return nil
}

// appendTo appends the section, or nothing if there is no entry.
func (w *linksWriter) appendTo(dst []byte) []byte {
	if len(w.keys) == 0 {
		return dst
	}
	// 1. Write the header and the first keys.
	words := (len(w.keys)*filterBitsPerKey + 63) / 64
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(w.keys)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(words))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(w.changes))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(w.data)))
	for i := 0; i < len(w.keys); i += blockKeys {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w.keys[i]))
	}
	// 2. Write the filter. Each key sets up to four bits of one word.
	filter := len(dst)
	dst = append(dst, make([]byte, 8*words)...)
	for _, key := range w.keys {
		word, mask := filterBits(uid.Mix(uint64(key)), uint64(words))
		p := dst[filter+8*int(word):]
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)|mask)
	}
	for _, start := range w.starts {
		dst = binary.LittleEndian.AppendUint32(dst, start)
	}
	// 3. Pad the starts, because the data must begin at a multiple of 8.
	if len(w.starts)%2 == 1 {
		dst = append(dst, 0, 0, 0, 0)
	}
	dst = append(dst, w.data...)
	return append(dst, make([]byte, roundUp8(len(w.data))-len(w.data))...)
}
