package workload

// This file holds the text-heavy data set: products and their reviews.

import (
	"context"
	"io"
	"strconv"
	"unicode/utf8"
)

// ShopNS is the namespace of the classes and properties of Texts.
const ShopNS = "http://trefoil.example/shop#"

// Texts is a data set that consists mostly of long language strings. A product
// http://shop.example/product/N has
//
//	rdf:type Product, brand and category (IRIs), rdfs:label in 1-2 languages,
//	description in 2-3 languages, 200-1,000 characters each,
//	price (xsd:decimal, 1.00-4999.99), released (xsd:date), inStock (xsd:boolean)
//
// and 0-4 reviews http://shop.example/product/N/review/K with reviewOf, rating
// (xsd:integer, 1-5), created (xsd:dateTime) and text (200-1,000 characters).
//
// The words of a text follow Zipf's law, are of the same language, and come
// with punctuation, paragraphs, quotation marks, tabs and backslashes, and with
// a few characters written as \u and \U escapes.
type Texts struct {
	Seed    uint64
	Triples int64 // the exact number; 0 means DefaultTriples
}

// Validate reports options that make no data set.
func (g Texts) Validate() error { return checkTriples(g.Triples) }

// Generate implements Generator.
func (g Texts) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	if err := g.Validate(); err != nil {
		return Counts{}, err
	}
	return g.span().Generate(ctx, w)
}

// Parts implements Generator.
func (g Texts) Parts(n int) ([]Generator, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g.span().Parts(n)
}

// MediaType implements Generator.
func (g Texts) MediaType() string { return MediaTypeNTriples }

func (g Texts) span() span {
	return span{src: texts{g.Seed}, media: MediaTypeNTriples, count: orDefault(g.Triples)}
}

const (
	shop = "<" + ShopNS

	pDescription = " " + shop + "description> "
	pBrand       = " " + shop + "brand> "
	pCategory    = " " + shop + "category> "
	pPrice       = " " + shop + "price> "
	pReleased    = " " + shop + "released> "
	pInStock     = " " + shop + "inStock> "
	pReviewOf    = " " + shop + "reviewOf> "
	pRating      = " " + shop + "rating> "
	pCreated     = " " + shop + "created> "
	pText        = " " + shop + "text> "

	productTriples = 6 // without labels and descriptions
	reviewTriples  = 4

	textMinChars, textMaxChars = 200, 1000
	textSlackChars             = 60 // a text may pass its target by the last sentence's end
)

// texts is the source of Texts; a unit is a product with its reviews.
type texts struct{ seed uint64 }

// drawProduct is the first draw of a product's stream.
func drawProduct(r *stream) (labels, descriptions, reviews int) {
	return r.between(1, 2), r.between(2, 3), r.n(5)
}

// size implements source.
func (g texts) size(unit int64) int64 {
	r := newStream(g.seed, 0, uint64(unit))
	labels, descriptions, reviews := drawProduct(&r)
	return int64(productTriples + labels + descriptions + reviewTriples*reviews)
}

// emit implements source.
func (g texts) emit(e *emitter, unit int64) {
	r := newStream(g.seed, 0, uint64(unit))
	labels, descriptions, reviews := drawProduct(&r)
	s := append(make([]byte, 0, 64), "<http://shop.example/product/"...)
	s = strconv.AppendInt(s, unit, 10)
	s = append(s, '>')

	e.term(s, rdfType, shop+"Product>")
	e.open(s, pBrand)
	e.buf = append(e.buf, "<http://shop.example/brand/"...)
	e.number(r.zipf(10))
	e.buf = append(e.buf, '>')
	e.end()
	e.open(s, pCategory)
	e.buf = append(e.buf, "<http://shop.example/category/"...)
	e.number(r.zipf(7))
	e.buf = append(e.buf, '>')
	e.end()
	e.decimal(s, pPrice, 100+r.n(1<<r.between(8, 18))*499900>>18)
	e.date(s, pReleased, r.between(2005, 2025), r.between(1, 12), r.between(1, 28))
	e.boolean(s, pInStock, !r.oneIn(4))

	var spoken [3]int // the first ones of both labels and descriptions are the same
	r.distinct(spoken[:], len(languages))
	for _, l := range spoken[:labels] {
		v := vocabularies()[l]
		e.open(s, rdfsLabel)
		e.buf = append(e.buf, '"')
		e.buf = v.appendWords(e.buf, &r, r.between(2, 4), wordOctaves)
		e.endText(v.tag)
	}
	for _, l := range spoken[:descriptions] {
		e.prose(s, pDescription, vocabularies()[l], &r)
	}
	product := s
	for i := range reviews {
		s = append(append([]byte(nil), product[:len(product)-1]...), "/review/"...)
		s = strconv.AppendInt(s, int64(i), 10)
		s = append(s, '>')
		e.ref(s, pReviewOf, product)
		e.integer(s, pRating, 1+max(r.n(5), r.n(5)))
		e.dateTime(s, pCreated, r.between(2015, 2025), r.between(1, 12), r.between(1, 28), r.n(24*3600))
		e.prose(s, pText, vocabularies()[r.zipf(3)%len(languages)], &r)
	}
}

// prose writes a line whose object is a text of 200-1,000 characters.
func (e *emitter) prose(s []byte, p string, v *vocabulary, r *stream) {
	e.open(s, p)
	e.buf = append(e.buf, '"')
	e.buf = v.appendProse(e.buf, r, r.between(textMinChars, textMaxChars-textSlackChars))
	e.endText(v.tag)
}

// appendProse appends a text of about a number of characters, escaped as in
// N-Triples.
func (v *vocabulary) appendProse(dst []byte, r *stream, chars int) []byte {
	separatorRunes, stopRunes := len(v.separator), utf8.RuneCountInString(v.stop)
	written, left := 0, r.between(5, 18) // words left in the sentence
	for written < chars {
		x := r.pcg.Uint64()
		word := zipf(x<<8, wordOctaves)
		switch x >> 56 {
		case 0, 1, 2:
			dst = append(dst, `\"`...)
			dst = append(dst, v.words[word]...)
			dst = append(dst, `\"`...)
			written += 2
		case 3:
			dst = append(dst, `C:\\`...)
			dst = append(dst, v.words[word]...)
			written += 3
		case 4:
			dst = append(dst, `\t\u20AC `...)
			dst = append(dst, v.words[word]...)
			written += 3
		case 5:
			dst = append(dst, `\U0001F331`...)
			dst = append(dst, v.words[word]...)
			written++
		default:
			dst = append(dst, v.words[word]...)
		}
		written += int(v.runes[word])
		left--
		switch {
		case left > 0:
			dst = append(dst, v.separator...)
			written += separatorRunes
			continue
		case r.oneIn(5):
			dst = append(dst, v.stop...)
			dst = append(dst, `\n`...)
		default:
			dst = append(dst, v.stop...)
			dst = append(dst, ' ')
		}
		written += stopRunes + 1
		left = r.between(5, 18)
	}
	return append(dst, v.stop...)
}
