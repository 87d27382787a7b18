// Writing segments: documents in order, then terms in order with their postings.

package textindex

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

const (
	magic = "trefoil text 2\n\x00"
	// headBytes is the length of the head behind the magic.
	headNumbers = 7
	headBytes   = headNumbers*4 + (1+numSections)*8
	// flagTrigrams says that the documents have terms of trigrams.
	flagTrigrams = 1

	blockPostings = 128
	// skipBytes is the size of the entry of a full block, with maxImpacts impacts.
	skipBytes     = 12 + 4*maxImpacts
	maxImpacts    = 4
	blockTerms    = 16
	termIndexSize = 24
	docIndexSize  = 20
	// docBlockBytes is the size from which a block of documents is complete.
	docBlockBytes = 4 << 10
	// packPadding lets a reader load 8 bytes anywhere.
	packPadding = 8
)

// The sections, in order.
const (
	sectionPredicate = iota
	sectionLanguages
	sectionTermIndex
	sectionTerms
	sectionPostings
	sectionPositions
	sectionHashes
	sectionLengths
	sectionTags
	sectionDocIndex
	numSections
)

// Hash returns the hash of a document's key. Documents are ordered by it, and its highest bits are the
// partition.
func Hash(key []byte) uint64 { return xxhash.Sum64(key) }

// segmentWriter collects the sections of a segment.
type segmentWriter struct {
	predicate string
	partition uint32
	trigrams  bool
	sections  [numSections][]byte
	languages map[string]uint16
	documents uint32
	terms     uint32
	tokens    uint64

	last    []byte // the last term
	block   []byte // documents of the current block
	inBlock uint32
	blocks  uint32
	docs    []byte // complete blocks
	zstd    *zstd.Encoder
	deltas  [2][blockPostings]uint32
}

func newSegmentWriter(predicate string, partition uint32, trigrams bool) *segmentWriter {
	w := &segmentWriter{predicate: predicate, partition: partition, trigrams: trigrams, languages: map[string]uint16{}}
	// Options of a constant cannot fail.
	w.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithZeroFrames(true), zstd.WithWindowSize(1<<20))
	w.sections[sectionPredicate] = []byte(predicate)
	return w
}

// addDocument adds the next document. Hashes must ascend, and keys of equal hashes too.
func (w *segmentWriter) addDocument(hash uint64, key []byte, tag string, length uint32) {
	number, known := w.languages[tag]
	if !known {
		number = uint16(len(w.languages))
		w.languages[tag] = number
		w.sections[sectionLanguages] = append(binary.AppendUvarint(w.sections[sectionLanguages], uint64(len(tag))), tag...)
	}
	w.sections[sectionHashes] = binary.LittleEndian.AppendUint64(w.sections[sectionHashes], hash)
	w.sections[sectionLengths] = binary.LittleEndian.AppendUint32(w.sections[sectionLengths], length)
	w.sections[sectionTags] = binary.LittleEndian.AppendUint16(w.sections[sectionTags], number)
	w.tokens += uint64(length)
	w.documents++
	w.block = append(binary.AppendUvarint(w.block, uint64(len(key))), key...)
	w.inBlock++
	if len(w.block) >= docBlockBytes {
		w.endBlock()
	}
}

// endBlock compresses a block of documents.
func (w *segmentWriter) endBlock() {
	if w.inBlock == 0 {
		return
	}
	at := len(w.docs)
	w.docs = append(w.docs, 0, 0, 0, 0, 0, 0, 0, 0)
	w.docs = w.zstd.EncodeAll(w.block, w.docs)
	binary.LittleEndian.PutUint64(w.docs[at:], xxhash.Sum64(w.docs[at+8:]))
	index := binary.LittleEndian.AppendUint32(w.sections[sectionDocIndex], w.documents-w.inBlock)
	index = binary.LittleEndian.AppendUint64(index, uint64(at))
	index = binary.LittleEndian.AppendUint32(index, uint32(len(w.docs)-at))
	w.sections[sectionDocIndex] = binary.LittleEndian.AppendUint32(index, uint32(len(w.block)))
	w.block, w.inBlock = w.block[:0], 0
	w.blocks++
}

// addTerm adds the next term. documents ascend strictly, and positions has frequencies[i] uvarints for the
// i-th: the first position, and the gaps.
func (w *segmentWriter) addTerm(term []byte, documents, frequencies []uint32, positions []byte) {
	postings := len(w.sections[sectionPostings])
	w.addPostings(documents, frequencies, positions)
	// 1. A block of terms begins with a whole one.
	shared := 0
	if w.terms%blockTerms == 0 {
		index := binary.LittleEndian.AppendUint64(w.sections[sectionTermIndex], uint64(len(w.sections[sectionTerms])))
		index = binary.LittleEndian.AppendUint64(index, uint64(postings))
		w.sections[sectionTermIndex] = binary.LittleEndian.AppendUint64(index, uint64(len(w.sections[sectionPositions])))
	} else {
		shared = sharedPrefix(w.last, term)
	}
	// 2. The term and the sizes of its lists.
	b := binary.AppendUvarint(w.sections[sectionTerms], uint64(shared))
	b = append(binary.AppendUvarint(b, uint64(len(term)-shared)), term[shared:]...)
	b = binary.AppendUvarint(b, uint64(len(documents)))
	b = binary.AppendUvarint(b, uint64(len(w.sections[sectionPostings])-postings))
	w.sections[sectionTerms] = binary.AppendUvarint(b, uint64(len(positions)))
	w.sections[sectionPositions] = append(w.sections[sectionPositions], positions...)
	w.last = append(w.last[:0], term...)
	w.terms++
}

func sharedPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// addPostings appends a list of postings.
func (w *segmentWriter) addPostings(documents, frequencies []uint32, positions []byte) {
	full := len(documents) / blockPostings
	out := w.sections[sectionPostings]
	skips := len(out)
	out = append(out, make([]byte, full*skipBytes)...)
	blocks, next, at := len(out), uint32(0), 0
	// Full blocks. next is the least possible document, at the place in the positions.
	for i := range full {
		of := documents[i*blockPostings : (i+1)*blockPostings]
		frequency := frequencies[i*blockPostings : (i+1)*blockPostings]
		skip := out[skips+i*skipBytes:]
		binary.LittleEndian.PutUint32(skip[8:], uint32(at))
		for k, d := range of {
			w.deltas[0][k], next = d-next, d+1
			w.deltas[1][k] = frequency[k] - 1
			at = skipUvarints(positions, at, int(frequency[k]))
		}
		gaps, tfs := width(w.deltas[0][:]), width(w.deltas[1][:])
		out = append(out, gaps, tfs)
		out = pack(out, w.deltas[0][:], gaps)
		out = pack(out, w.deltas[1][:], tfs)
		skip = out[skips+i*skipBytes:] // append may have moved it
		binary.LittleEndian.PutUint32(skip, of[blockPostings-1])
		binary.LittleEndian.PutUint32(skip[4:], uint32(len(out)-blocks))
		w.putImpacts(skip[12:], of, frequency, tfs)
	}
	if rest := documents[full*blockPostings:]; len(rest) > 0 {
		frequency := frequencies[full*blockPostings:]
		greatest, least := w.impact(rest, frequency)
		out = binary.AppendUvarint(out, uint64(at))
		out = binary.AppendUvarint(out, uint64(greatest))
		out = binary.AppendUvarint(out, uint64(least))
		for k, d := range rest {
			gap := uint64(d-next) * 2
			next = d + 1
			if frequency[k] == 1 {
				out = binary.AppendUvarint(out, gap+1)
				continue
			}
			out = binary.AppendUvarint(binary.AppendUvarint(out, gap), uint64(frequency[k]-2))
		}
	}
	w.sections[sectionPostings] = out
}

// putImpacts writes pairs of frequency and length: for each document a pair has at least its frequency and at most
// its length. So the best score of a pair is a bound for all.
// If all frequencies are 1, bits is 0, and the least length is enough.
func (w *segmentWriter) putImpacts(out []byte, documents, frequencies []uint32, bits byte) {
	if bits == 0 {
		_, least := w.impact(documents, frequencies)
		for i := range maxImpacts {
			binary.LittleEndian.PutUint16(out[4*i:], 1)
			binary.LittleEndian.PutUint16(out[4*i+2:], uint16(min(least, math.MaxUint16)))
		}
		return
	}
	// 1. The pairs that no other one makes superfluous, by ascending frequency and length.
	type pair struct{ frequency, length uint32 }
	pairs := make([]pair, len(documents))
	for i, d := range documents {
		pairs[i] = pair{frequencies[i], binary.LittleEndian.Uint32(w.sections[sectionLengths][4*d:])}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.frequency, a.frequency), cmp.Compare(a.length, b.length))
	})
	best := pairs[:1]
	for _, p := range pairs[1:] {
		if p.length < best[len(best)-1].length {
			best = append(best, p)
		}
	}
	// 2. If they are too many, neighbours with similar lengths become one.
	for len(best) > maxImpacts {
		join := 1
		for i := 2; i < len(best); i++ {
			if best[i-1].length-best[i].length < best[join-1].length-best[join].length {
				join = i
			}
		}
		best[join-1].length = best[join].length
		best = slices.Delete(best, join, join+1)
	}
	// 3. 16 bits each; a greater frequency counts as any, and a greater length as the greatest.
	for i := range maxImpacts {
		p := best[min(i, len(best)-1)]
		binary.LittleEndian.PutUint16(out[4*i:], uint16(min(p.frequency, math.MaxUint16)))
		binary.LittleEndian.PutUint16(out[4*i+2:], uint16(min(p.length, math.MaxUint16)))
	}
}

// impact returns the greatest frequency and the least length of some documents.
func (w *segmentWriter) impact(documents, frequencies []uint32) (greatest, least uint32) {
	least = ^uint32(0)
	for i, d := range documents {
		greatest = max(greatest, frequencies[i])
		least = min(least, binary.LittleEndian.Uint32(w.sections[sectionLengths][4*d:]))
	}
	return greatest, least
}

// skipUvarints returns the place behind n uvarints.
func skipUvarints(b []byte, at, n int) int {
	for ; n > 0 && at < len(b); at++ {
		if b[at] < 0x80 {
			n--
		}
	}
	return at
}

// width returns the bits of the greatest value.
func width(values []uint32) byte {
	all := uint32(0)
	for _, v := range values {
		all |= v
	}
	return byte(bits.Len32(all))
}

// pack appends values of some bits each, from the lowest bit of each byte on.
func pack(out []byte, values []uint32, width byte) []byte {
	if width == 0 {
		return out
	}
	word, used := uint64(0), byte(0)
	for _, v := range values {
		word |= uint64(v) << used
		for used += width; used >= 8; used -= 8 {
			out = append(out, byte(word))
			word >>= 8
		}
	}
	if used > 0 {
		out = append(out, byte(word))
	}
	return out
}

// finish returns the segment: its head and sections with their checksum, and the documents.
func (w *segmentWriter) finish() (body, docs []byte) {
	w.endBlock()
	w.sections[sectionPostings] = append(w.sections[sectionPostings], make([]byte, packPadding)...)
	total := len(magic) + headBytes + 8
	for _, s := range w.sections {
		total += len(s)
	}
	body = append(make([]byte, 0, total), magic...)
	flags := uint32(0)
	if w.trigrams {
		flags |= flagTrigrams
	}
	for _, n := range [headNumbers]uint32{w.documents, w.terms, (w.terms + blockTerms - 1) / blockTerms, uint32(len(w.languages)), w.blocks, w.partition, flags} {
		body = binary.LittleEndian.AppendUint32(body, n)
	}
	body = binary.LittleEndian.AppendUint64(body, w.tokens)
	for _, s := range w.sections {
		body = binary.LittleEndian.AppendUint64(body, uint64(len(s)))
	}
	for i, s := range w.sections {
		body = append(body, s...)
		w.sections[i] = nil // it may be large
	}
	return binary.LittleEndian.AppendUint64(body, xxhash.Sum64(body)), w.docs
}
