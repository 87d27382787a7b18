// The text-heavy data set: products and their reviews.

package dataset

import (
	"context"
	"io"
	"strconv"
	"unicode/utf8"
)

// shopNS is the namespace of the classes and properties of Texts.
const shopNS = "http://trefoil.example/shop#"

// Texts is a data set of mostly long language strings. A product http://shop.example/product/N has
//
//	rdf:type Product, brand and category (IRIs), rdfs:label in 1-2 languages,
//	description in 2-3 languages, 200-1,000 characters each,
//	price (xsd:decimal, 1.00-4999.99), released (xsd:date), inStock (xsd:boolean)
//
// and 0-4 reviews http://shop.example/product/N/review/K with reviewOf, rating
// (xsd:integer, 1-5), created (xsd:dateTime) and text (200-1,000 characters).
//
// The words of a text follow Zipf's law and are of one language. Texts have punctuation,
// paragraphs, quotation marks, tabs and backslashes, and a few characters written as \u and \U
// escapes.
type Texts struct {
	Seed    uint64
	Triples int64 // the exact number; 0 means defaultTriples
}

// Generate implements Generator.
func (g Texts) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	return write(ctx, w, texts{g.Seed}, g.Triples)
}

// MediaType implements Generator.
func (g Texts) MediaType() string { return MediaTypeNTriples }

const (
	shop = "<" + shopNS

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

	textMinChars, textMaxChars = 200, 1000
	textSlackChars             = 60 // the last sentence may exceed the target by this
)

// texts is the source of Texts; a unit is a product with its reviews.
type texts struct{ seed uint64 }

// emit implements source.
func (g texts) emit(e *emitter, unit int64) {
	// 1. The product with its fixed number of triples.
	r := newStream(g.seed, 0, uint64(unit))
	labels, descriptions, reviews := r.intBetween(1, 2), r.intBetween(2, 3), r.n(5)
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
	e.decimal(s, pPrice, 100+r.n(1<<r.intBetween(8, 18))*499900>>18)
	e.date(s, pReleased, r.intBetween(2005, 2025), r.intBetween(1, 12), r.intBetween(1, 28))
	e.boolean(s, pInStock, !r.oneIn(4))

	// 2. Labels and descriptions, in different languages.
	var spoken [3]int // labels and descriptions begin with the same languages
	r.distinct(spoken[:], len(languages))
	for _, l := range spoken[:labels] {
		v := vocabularies()[l]
		e.open(s, rdfsLabel)
		e.buf = append(e.buf, '"')
		e.buf = v.appendWords(e.buf, &r, r.intBetween(2, 4), wordOctaves)
		e.endText(v.tag)
	}
	for _, l := range spoken[:descriptions] {
		e.prose(s, pDescription, vocabularies()[l], &r)
	}
	// 3. The reviews. Each has its own IRI, below the product's.
	product := s
	for i := range reviews {
		s = append(append([]byte(nil), product[:len(product)-1]...), "/review/"...)
		s = strconv.AppendInt(s, int64(i), 10)
		s = append(s, '>')
		e.ref(s, pReviewOf, product)
		e.integer(s, pRating, 1+max(r.n(5), r.n(5)))
		e.dateTime(s, pCreated, r.intBetween(2015, 2025), r.intBetween(1, 12), r.intBetween(1, 28), r.n(24*3600))
		e.prose(s, pText, vocabularies()[r.zipf(3)%len(languages)], &r)
	}
}

// prose writes a line; its object is a text of 200-1,000 characters.
func (e *emitter) prose(s []byte, p string, v *vocabulary, r *stream) {
	e.open(s, p)
	e.buf = append(e.buf, '"')
	e.buf = v.appendProse(e.buf, r, r.intBetween(textMinChars, textMaxChars-textSlackChars))
	e.endText(v.tag)
}

// appendProse appends a text of about chars characters, escaped as in N-Triples.
func (v *vocabulary) appendProse(dst []byte, r *stream, chars int) []byte {
	separatorRunes, stopRunes := len(v.separator), utf8.RuneCountInString(v.stop)
	written, left := 0, r.intBetween(5, 18) // words left in the sentence
	for written < chars {
		// 1. A word. A few have quotes or escapes around them, because parsers must read those too.
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
		// 2. The end of the word, of the sentence or of the paragraph.
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
		left = r.intBetween(5, 18)
	}
	return append(dst, v.stop...)
}
