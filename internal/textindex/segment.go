// Reading segments: checks, the dictionary of terms, and documents.

package textindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"sort"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is wrapped by the errors of a segment that is not as it was written.
var ErrDamaged = errors.New("the text index is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Segment is the documents of one predicate in one partition. It is immutable and safe for concurrent use,
// if the reader of its documents is.
type Segment struct {
	body      []byte
	sections  [numSections][]byte
	documents uint32
	terms     uint32
	tokens    uint64
	partition uint32
	trigrams  bool
	tags      []string // language tags by number
	languages []string // of the tags, each once, sorted

	docs     io.ReaderAt
	docsSize int64
}

// Open returns the segment of some bytes, which must not change, and of its documents, of which there
// are size bytes.
func Open(body []byte, docs io.ReaderAt, size int64) (*Segment, error) {
	s := &Segment{body: body, docs: docs, docsSize: size}
	// 1. The checksum, before anything is read.
	if len(body) < len(magic)+headBytes+8 || string(body[:len(magic)]) != magic {
		return nil, damaged("it is no segment of this format")
	}
	end := len(body) - 8
	if xxhash.Sum64(body[:end]) != binary.LittleEndian.Uint64(body[end:]) {
		return nil, damaged("its checksum is wrong")
	}
	// 2. The head and the sections.
	head := body[len(magic):]
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
	s.documents, s.terms, s.partition, s.trigrams = number(0), number(1), number(5), number(6)&flagTrigrams != 0
	s.tokens = binary.LittleEndian.Uint64(head[headNumbers*4:])
	at := uint64(len(magic) + headBytes)
	for i := range s.sections {
		n := binary.LittleEndian.Uint64(head[headNumbers*4+8+8*i:])
		if n > uint64(end)-at {
			return nil, damaged("a section is longer than the file")
		}
		s.sections[i] = body[at : at+n : at+n]
		at += n
	}
	// 3. The sizes of arrays.
	is := func(section int, n, size uint64) bool { return uint64(len(s.sections[section])) == n*size }
	blocks, docBlocks := uint64(number(2)), uint64(number(4))
	if at != uint64(end) || blocks != (uint64(s.terms)+blockTerms-1)/blockTerms || len(s.sections[sectionPostings]) < packPadding ||
		!is(sectionTermIndex, blocks, termIndexSize) || !is(sectionHashes, uint64(s.documents), 8) || !is(sectionLengths, uint64(s.documents), 4) ||
		!is(sectionTags, uint64(s.documents), 2) || !is(sectionDocIndex, docBlocks, docIndexSize) || (docBlocks == 0) != (s.documents == 0) {
		return nil, damaged("its sections do not fit together")
	}
	return s, s.readLanguages(int(number(3)))
}

// readLanguages reads the tags of languages, and checks those of documents.
func (s *Segment) readLanguages(n int) error {
	seen := map[string]bool{}
	rest := s.sections[sectionLanguages]
	for range n {
		length, k := binary.Uvarint(rest)
		if k <= 0 || length > uint64(len(rest)-k) {
			return damaged("a language tag is cut off")
		}
		tag := string(rest[k : k+int(length)])
		rest = rest[k+int(length):]
		s.tags = append(s.tags, tag)
		if lang := LanguageOf(tag); !seen[lang] {
			seen[lang] = true
			s.languages = append(s.languages, lang)
		}
	}
	sort.Strings(s.languages)
	for at := 0; at < len(s.sections[sectionTags]); at += 2 {
		if int(binary.LittleEndian.Uint16(s.sections[sectionTags][at:])) >= len(s.tags) {
			return damaged("a document has no language")
		}
	}
	return nil
}

// Predicate returns the IRI of the predicate.
func (s *Segment) Predicate() string { return string(s.sections[sectionPredicate]) }

// Partition returns the partition.
func (s *Segment) Partition() uint32 { return s.partition }

// Documents returns the number of documents, with deleted ones.
func (s *Segment) Documents() int { return int(s.documents) }

// Tokens returns the number of words of all documents.
func (s *Segment) Tokens() uint64 { return s.tokens }

// Body returns the bytes of the segment without its documents.
func (s *Segment) Body() []byte { return s.body }

// Docs returns the documents as they were written.
func (s *Segment) Docs() *io.SectionReader { return io.NewSectionReader(s.docs, 0, s.docsSize) }

// WithDocs returns the segment with another reader of the same documents.
func (s *Segment) WithDocs(docs io.ReaderAt) *Segment {
	other := *s
	other.docs = docs
	return &other
}

func (s *Segment) hash(doc uint32) uint64 {
	return binary.LittleEndian.Uint64(s.sections[sectionHashes][8*doc:])
}

func (s *Segment) length(doc uint32) uint32 {
	return binary.LittleEndian.Uint32(s.sections[sectionLengths][4*doc:])
}

func (s *Segment) tag(doc uint32) string {
	return s.tags[binary.LittleEndian.Uint16(s.sections[sectionTags][2*doc:])]
}

// list is the place of a term's postings.
type list struct {
	count               uint32
	postings, positions []byte
}

// dictionary iterates over terms.
type dictionary struct {
	segment   *Segment
	block     int // the next block
	left      int // terms of the current block
	rest      []byte
	term      []byte
	shared    int // bytes that the term has from the one before
	list      list
	postings  uint64
	positions uint64
	err       error
}

// firstOf returns the first term of a block; nil if it is damaged.
func (s *Segment) firstOf(block int) []byte {
	at := binary.LittleEndian.Uint64(s.sections[sectionTermIndex][block*termIndexSize:])
	if at > uint64(len(s.sections[sectionTerms])) {
		return nil
	}
	rest := s.sections[sectionTerms][at:]
	if len(rest) == 0 || rest[0] != 0 {
		return nil
	}
	n, k := binary.Uvarint(rest[1:])
	if k <= 0 || n > uint64(len(rest)-1-k) {
		return nil
	}
	return rest[1+k : 1+k+int(n)]
}

// seek places the dictionary before the first term that is not less. next reads it.
func (s *Segment) seek(term []byte) *dictionary {
	blocks := len(s.sections[sectionTermIndex]) / termIndexSize
	block := sort.Search(blocks, func(i int) bool { return bytes.Compare(s.firstOf(i), term) > 0 })
	return &dictionary{segment: s, block: max(block-1, 0)}
}

// next reads the next term. It returns false at the end, or if the segment is damaged.
func (d *dictionary) next() bool {
	s := d.segment
	// 1. Begin a block.
	if d.left == 0 {
		index := s.sections[sectionTermIndex]
		if d.err != nil || d.block*termIndexSize >= len(index) {
			return false
		}
		at := binary.LittleEndian.Uint64(index[d.block*termIndexSize:])
		d.postings = binary.LittleEndian.Uint64(index[d.block*termIndexSize+8:])
		d.positions = binary.LittleEndian.Uint64(index[d.block*termIndexSize+16:])
		if at > uint64(len(s.sections[sectionTerms])) {
			d.err = damaged("a block of terms lies behind their end")
			return false
		}
		d.rest, d.term = s.sections[sectionTerms][at:], d.term[:0]
		d.left = min(blockTerms, int(s.terms)-d.block*blockTerms)
		d.block++
	}
	// 2. Read the term and its lists.
	var numbers [5]uint64
	for i := range numbers {
		if i == 2 { // behind the bytes of the term
			if numbers[0] > uint64(len(d.term)) || numbers[1] > uint64(len(d.rest)) {
				d.err = damaged("a term is cut off")
				return false
			}
			d.term = append(d.term[:numbers[0]], d.rest[:numbers[1]]...)
			d.rest = d.rest[numbers[1]:]
		}
		v, k := binary.Uvarint(d.rest)
		if k <= 0 {
			d.err = damaged("a term is cut off")
			return false
		}
		numbers[i], d.rest = v, d.rest[k:]
	}
	postings, positions := s.sections[sectionPostings], s.sections[sectionPositions]
	space := uint64(len(postings) - packPadding)
	if d.postings > space || numbers[3] > space-d.postings || d.positions > uint64(len(positions)) || numbers[4] > uint64(len(positions))-d.positions ||
		numbers[2] == 0 || numbers[2] > uint64(s.documents) || numbers[3] == 0 {
		d.err = damaged("the postings of a term are empty, or lie behind their end")
		return false
	}
	d.shared = int(numbers[0])
	// The postings are followed by others or by the padding.
	d.list = list{uint32(numbers[2]), postings[d.postings : d.postings+numbers[3] : d.postings+numbers[3]+packPadding], positions[d.positions : d.positions+numbers[4]]}
	d.postings, d.positions = d.postings+numbers[3], d.positions+numbers[4]
	d.left--
	return true
}

// find returns the list of a term; ok is false if there is none.
func (s *Segment) find(term []byte) (l list, ok bool, err error) {
	d := s.seek(term)
	for d.next() {
		switch bytes.Compare(d.term, term) {
		case 0:
			return d.list, true, nil
		case 1:
			return l, false, nil
		}
	}
	return l, false, d.err
}

// maxDocBlock bounds a block of documents before compression: a block begins within docBlockBytes, and has
// one document of any size.
const maxDocBlock = 1 << 30

// docBlock reads block i of the documents.
func (s *Segment) docBlock(i int) (first uint32, block []byte, err error) {
	index := s.sections[sectionDocIndex][i*docIndexSize:]
	first = binary.LittleEndian.Uint32(index)
	at, n, size := binary.LittleEndian.Uint64(index[4:]), binary.LittleEndian.Uint32(index[12:]), binary.LittleEndian.Uint32(index[16:])
	if n < 8 || at > uint64(s.docsSize) || uint64(n) > uint64(s.docsSize)-at || size > maxDocBlock {
		return 0, nil, damaged("a block of documents lies behind their end")
	}
	compressed := make([]byte, n)
	if _, err := s.docs.ReadAt(compressed, int64(at)); err != nil {
		return 0, nil, fmt.Errorf("%w: read a block of documents: %w", ErrDamaged, err)
	}
	if binary.LittleEndian.Uint64(compressed) != xxhash.Sum64(compressed[8:]) {
		return 0, nil, damaged("the checksum of a block of documents is wrong")
	}
	block, err = decompress(compressed[8:], int(size))
	return first, block, err
}

// decoder decompresses blocks. It is safe for concurrent use, and an option of a constant cannot fail. It ignores the
// checksum of zstd, because blocks have one that is tested before.
var decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDocBlock+1), zstd.WithDecoderLowmem(true), zstd.IgnoreChecksum(true))

// decompressSpace is room behind a block: with it the decoder copies whole words, and is a fifth faster.
const decompressSpace = 64

func decompress(b []byte, size int) ([]byte, error) {
	out, err := decoder.DecodeAll(b, make([]byte, 0, min(size, 1<<20)+decompressSpace))
	if err != nil || len(out) != size {
		return nil, damaged("a block of documents cannot be decompressed: %v", err)
	}
	return out, nil
}

// key returns the key of a document.
func (s *Segment) key(doc uint32) ([]byte, error) {
	var r keyReader
	return r.key(s, doc)
}

// keyReader reads keys of documents. Neighbours of one segment cost one block.
type keyReader struct {
	segment *Segment
	index   int
	first   uint32
	block   []byte
}

func (r *keyReader) key(s *Segment, doc uint32) ([]byte, error) {
	// 1. Find and read the block.
	index := s.sections[sectionDocIndex]
	i := sort.Search(len(index)/docIndexSize, func(i int) bool { return binary.LittleEndian.Uint32(index[i*docIndexSize:]) > doc }) - 1
	if i < 0 {
		return nil, damaged("a document is in no block")
	}
	if r.segment != s || r.index != i {
		first, block, err := s.docBlock(i)
		if err != nil {
			return nil, err
		}
		*r = keyReader{s, i, first, block}
	}
	// 2. Find the document.
	block := r.block
	for at := r.first; ; at++ {
		n, k := binary.Uvarint(block)
		if k <= 0 || n > uint64(len(block)-k) {
			return nil, damaged("a document is cut off")
		}
		if at == doc {
			return block[k : k+int(n) : k+int(n)], nil
		}
		block = block[k+int(n):]
	}
}

// Keys yields the keys of all documents, in order. Each is valid until the next. An error is the last.
func (s *Segment) Keys() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range len(s.sections[sectionDocIndex]) / docIndexSize {
			_, block, err := s.docBlock(i)
			for err == nil && len(block) > 0 {
				n, k := binary.Uvarint(block)
				if k <= 0 || n > uint64(len(block)-k) {
					err = damaged("a document is cut off")
					break
				}
				if !yield(block[k:k+int(n)], nil) {
					return
				}
				block = block[k+int(n):]
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Find returns the number of the document with a key; ok is false if there is none.
func (s *Segment) Find(key []byte) (doc uint32, ok bool, err error) {
	hash := Hash(key)
	first := uint32(sort.Search(int(s.documents), func(i int) bool { return s.hash(uint32(i)) >= hash }))
	for doc = first; doc < s.documents && s.hash(doc) == hash; doc++ {
		has, err := s.key(doc)
		if err != nil {
			return 0, false, err
		}
		if c := cmp.Compare(string(has), string(key)); c >= 0 {
			return doc, c == 0, nil
		}
	}
	return 0, false, nil
}
