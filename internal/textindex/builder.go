// Building a segment of documents.

package textindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Document is a literal of a predicate.
type Document struct {
	// Key identifies the literal, and is returned by searches.
	Key []byte
	// Text is what is indexed.
	Text []byte
	// Tag is the language tag, "" without one.
	Tag string
}

// maxTokens bounds the tokens of a document, because positions are numbers of 32 bits.
const maxTokens = math.MaxInt32

// ErrFull means that a builder takes no more documents. The others go into another segment.
var ErrFull = errors.New("the segment is full")

// Builder collects the documents of a segment. It is not safe for concurrent use.
//
// It keeps the term of each token by a number. Finish then puts the documents in order, and distributes
// their tokens to the terms by one counting sort.
type Builder struct {
	predicate string
	partition uint32
	analyzer  *Analyzer

	ids    map[string]uint32 // by term of the dictionary
	terms  []string
	counts []uint32            // tokens, by term
	words  map[string]*wordIDs // by language
	tokens []uint32            // terms of the tokens of all documents
	docs   []builtDocument
	keys   []byte
	tags   map[string]string // one copy of each tag
	grams  *gramBuilder      // nil without trigrams
}

// wordIDs are the terms of words as they are written.
type wordIDs struct {
	language *language
	ids      map[string][]uint32
}

// builtDocument is a document of a builder.
type builtDocument struct {
	hash       uint64
	key        int    // ends in Builder.keys
	tokens     int    // ends in Builder.tokens
	grams      [2]int // start and end in gramBuilder.postings
	tag        string
	start, len int // of the key and of the tokens
}

// NewBuilder returns an empty builder.
func NewBuilder(a *Analyzer, predicate string, partition uint32) *Builder {
	return &Builder{predicate: predicate, partition: partition, analyzer: a, ids: map[string]uint32{}, words: map[string]*wordIDs{}, tags: map[string]string{}}
}

// AddTrigrams makes the segment have the trigrams of its documents. It must be called before the first Add.
func (b *Builder) AddTrigrams() { b.grams = &gramBuilder{ids: map[gram]uint32{}} }

// Add adds a document. Its key must be a new one. Nothing of it is kept.
func (b *Builder) Add(d Document) error {
	if len(b.docs) >= math.MaxInt32 || len(b.tokens) > math.MaxInt32 || b.grams.full() {
		return ErrFull
	}
	// 1. The terms of its words.
	w := b.wordsOf(LanguageOf(d.Tag))
	begin := len(b.tokens)
	b.analyzer.segment(w.language, d.Text, func(raw []byte, _, _ int) bool {
		ids, ok := w.ids[string(raw)]
		if !ok {
			ids = b.addWord(w, raw)
		}
		for _, id := range ids {
			b.counts[id]++
			b.tokens = append(b.tokens, id)
		}
		return len(b.tokens)-begin < maxTokens
	})
	// 2. The document itself.
	tag, ok := b.tags[d.Tag]
	if !ok {
		if len(b.tags) == math.MaxUint16 {
			return ErrFull
		}
		tag = string(bytes.Clone([]byte(d.Tag)))
		b.tags[tag] = tag
	}
	at := len(b.keys)
	b.keys = append(b.keys, d.Key...)
	built := builtDocument{hash: Hash(d.Key), key: len(b.keys), start: at, tokens: len(b.tokens), len: len(b.tokens) - begin, tag: tag}
	if b.grams != nil {
		built.grams[0], built.grams[1] = b.grams.add(d.Text)
	}
	b.docs = append(b.docs, built)
	return nil
}

func (b *Builder) wordsOf(lang string) *wordIDs {
	w := b.words[lang]
	if w == nil {
		w = &wordIDs{language: b.analyzer.language(lang), ids: map[string][]uint32{}}
		b.words[lang] = w
	}
	return w
}

// addWord returns the numbers of the terms of a word.
func (b *Builder) addWord(w *wordIDs, raw []byte) []uint32 {
	var ids []uint32
	for _, word := range b.analyzer.terms(w.language, raw) {
		term := termOf(w.language.name, word)
		id, ok := b.ids[term]
		if !ok {
			id = uint32(len(b.terms))
			b.ids[term] = id
			b.terms = append(b.terms, term)
			b.counts = append(b.counts, 0)
		}
		ids = append(ids, id)
	}
	if len(w.ids) >= maxBuilderWords {
		clear(w.ids)
	}
	w.ids[string(raw)] = ids
	return ids
}

// maxBuilderWords bounds the words that a builder keeps of each language.
const maxBuilderWords = 1 << 20

// Len returns the number of documents.
func (b *Builder) Len() int { return len(b.docs) }

// Bytes returns about the memory that the builder takes, with that of Finish.
func (b *Builder) Bytes() int {
	return 12*len(b.tokens) + len(b.keys) + 80*len(b.docs) + 200*len(b.terms) + b.grams.bytes()
}

// Finish returns the segment. The builder must not be used again.
func (b *Builder) Finish() (*Segment, error) {
	w := newSegmentWriter(b.predicate, b.partition, b.grams != nil)
	// 1. The documents, by hash and key.
	key := func(d *builtDocument) []byte { return b.keys[d.start:d.key] }
	slices.SortFunc(b.docs, func(x, y builtDocument) int {
		return cmp.Or(cmp.Compare(x.hash, y.hash), bytes.Compare(key(&x), key(&y)))
	})
	for i := range b.docs {
		d := &b.docs[i]
		w.addDocument(d.hash, key(d), d.tag, uint32(d.len))
	}
	// 2. Distribute the tokens to their terms.
	next := make([]int, len(b.terms)+1)
	for i, n := range b.counts {
		next[i+1] = next[i] + int(n)
	}
	documents, positions := make([]uint32, len(b.tokens)), make([]uint32, len(b.tokens))
	for i := range b.docs {
		d := &b.docs[i]
		for at, id := range b.tokens[d.tokens-d.len : d.tokens] {
			documents[next[id]], positions[next[id]] = uint32(i), uint32(at)
			next[id]++ // it is the start of the next term at the end
		}
	}
	order := make([]uint32, len(b.terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.terms[x], b.terms[y]) })
	var ids, frequencies []uint32
	var gaps []byte
	grams := b.grams
	for _, id := range order {
		// The terms of trigrams are neighbours.
		if grams != nil && b.terms[id] > trigramTerms {
			grams.finish(w, b.docs)
			grams = nil
		}
		end := next[id]
		begin := end - int(b.counts[id])
		ids, frequencies, gaps = ids[:0], frequencies[:0], gaps[:0]
		for k := begin; k < end; k++ {
			if k > begin && documents[k] == documents[k-1] {
				frequencies[len(frequencies)-1]++
				gaps = binary.AppendUvarint(gaps, uint64(positions[k]-positions[k-1]))
				continue
			}
			ids, frequencies = append(ids, documents[k]), append(frequencies, 1)
			gaps = binary.AppendUvarint(gaps, uint64(positions[k]))
		}
		if len(gaps) > math.MaxUint32 {
			return nil, fmt.Errorf("the positions of one word take more than 4 GiB")
		}
		w.addTerm([]byte(b.terms[id]), ids, frequencies, gaps)
	}
	if grams != nil {
		grams.finish(w, b.docs)
	}
	body, docs := w.finish()
	return Open(body, bytes.NewReader(docs), int64(len(docs)))
}
