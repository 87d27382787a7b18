// The BSBM-like data set: its options and the sizes of its units.

package dataset

import (
	"context"
	"io"
)

// The namespaces of BSBM.
const (
	bsbmVocabulary = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/"
	bsbmInstances  = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/"
)

// BSBM is a data set in the shape of the Berlin SPARQL Benchmark (Bizer and Schultz, 2009). It has
// the same vocabulary and proportions, so that the benchmark's queries run on it:
//
//	73 product types in a tree of three levels, and 24 features of each
//	producers of 40 products; a product has its type and all above it, 12-24 features of these
//	  types, 3-5 texts and 3-5 numbers (1-2000)
//	vendors of 800 offers, 20 for each product; an offer has a price (a type of its own), dates
//	  and 1-7 days of delivery
//	persons of 20 reviews, 10 for each product; a review has a text in one of several languages,
//	  a date and up to 4 ratings (1-10)
//
// Subjects are numbered from 1 in the folder of who publishes them, such as
// instances/dataFromProducer2/Product41. Offers and reviews are of the products of the same
// producer and of the nine before it.
type BSBM struct {
	Seed    uint64
	Triples int64 // the exact number; 0 means defaultTriples
}

// Generate implements Generator.
func (g BSBM) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	return write(ctx, w, bsbm{g.Seed}, g.Triples)
}

// MediaType implements Generator.
func (g BSBM) MediaType() string { return MediaTypeNTriples }

// bsbm is the source of BSBM. Unit 0 is the tree of types with its features. Each other unit is a
// market: a producer with its products, a vendor with its offers, and persons with their reviews.
type bsbm struct{ seed uint64 }

const (
	typeBranches  = 8
	types         = 1 + typeBranches + typeBranches*typeBranches
	typeFeatures  = 24
	productLevels = 3 // of types that a product has

	marketProducts = 40
	marketOffers   = 20 * marketProducts
	marketReviews  = 10 * marketProducts
	personReviews  = 20
	marketPersons  = marketReviews / personReviews
	marketWindow   = 10 // markets whose products a market offers and reviews

	minFeatures, maxFeatures = 12, 24
)

// Tags of derived seeds.
const (
	tagCatalogue = iota
	tagMarketSize
	tagMarket
)

// marketSize has what the number of triples of a market depends on.
type marketSize struct {
	features [marketProducts]int
	texts    [marketProducts]int // 0-2 beyond the first three
	numbers  [marketProducts]int // 0-2 beyond the first three
	ratings  [marketReviews]int  // bit k is set if the review has rating k+1
}

func (g bsbm) marketSize(unit int64) (m marketSize) {
	r := newStream(g.seed, tagMarketSize, uint64(unit))
	for i := range marketProducts {
		m.features[i], m.texts[i], m.numbers[i] = r.intBetween(minFeatures, maxFeatures), r.n(3), r.n(3)
	}
	for i := range marketReviews {
		for k := range 4 {
			if r.n(10) < 7 {
				m.ratings[i] |= 1 << k
			}
		}
	}
	return m
}
