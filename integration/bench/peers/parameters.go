// Parameters of BSBM's queries, chosen from the data.

package peers

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// parameters are values by name, as they stand in the text of a query.
type parameters map[string]string

var parameterName = regexp.MustCompile(`%\w+%`)

// fill replaces %NAME% by the value of NAME.
func (p parameters) fill(text string) (filled string, err error) {
	filled = parameterName.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := p[strings.Trim(name, "%")]
		if !ok {
			err = fmt.Errorf("no parameter %s", name)
		}
		return value
	})
	return filled, err
}

// The vocabulary of BSBM: Bizer and Schultz, The Berlin SPARQL Benchmark, 2009.
const (
	bsbm      = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/"
	rdfType   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
	rdfsLabel = "http://www.w3.org/2000/01/rdf-schema#label"
	dcDate    = "http://purl.org/dc/elements/1.1/date"
)

// product is what parameters need of a product.
type product struct {
	types, features []string
	producer, label string
	numbers         [4]int // of the properties productPropertyNumeric1 to 3; the first is unused
}

// shop is what parameters need of a BSBM data set.
type shop struct {
	products  map[string]*product
	ids       []string       // of products, sorted
	populated map[string]int // products by type and by feature
	offers    []string
	reviews   []string
	countries []string // the most frequent first
	validTo   []string // sorted
	dates     []string // of reviews, sorted
}

// readShop reads an N-Triples file of BSBM's schema.
func readShop(file string) (*shop, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// 1. Collect the products, offers and reviews.
	s := &shop{products: map[string]*product{}, populated: map[string]int{}}
	all := map[string]*product{} // products, and other things that have some of their properties
	thing := func(id string) *product {
		if all[id] == nil {
			all[strings.Clone(id)] = new(product)
		}
		return all[id]
	}
	countries, reviews, dates := map[string]int{}, map[string]bool{}, map[string]string{}
	sc := triple.NewScanner(f, triple.ScanOptions{Source: file})
	for sc.Scan() {
		t := sc.Triple().Clone()
		id, object, value := t.Subject.String(), t.Object.String(), t.Object.Value()
		name, ours := strings.CutPrefix(t.Predicate.Value(), bsbm)
		switch {
		case t.Predicate.Value() == rdfType && value == bsbm+"Product":
			s.products[id] = thing(id)
		case t.Predicate.Value() == rdfType && value == bsbm+"Offer":
			s.offers = append(s.offers, id)
		case t.Predicate.Value() == rdfType && strings.Contains(value, "/ProductType"):
			p := thing(id)
			p.types = append(p.types, object)
			s.populated[object]++
		case t.Predicate.Value() == rdfsLabel && strings.Contains(id, "/Product"):
			thing(id).label = value
		case t.Predicate.Value() == dcDate && strings.Contains(id, "/Review"):
			dates[id] = value // of reviewers too
		case !ours:
		case name == "productFeature":
			p := thing(id)
			p.features = append(p.features, object)
			s.populated[object]++
		case name == "producer":
			thing(id).producer = object
		case strings.HasPrefix(name, "productPropertyNumeric") && name[len(name)-1] < '4':
			thing(id).numbers[name[len(name)-1]-'0'], _ = strconv.Atoi(value) // 0 serves as well
		case name == "reviewFor":
			reviews[id] = true
		case name == "country":
			countries[object]++
		case name == "validTo":
			s.validTo = append(s.validTo, object)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	// 2. Sort, so that the order of the file does not matter, without a product that the end of the
	// file cuts off.
	maps.DeleteFunc(s.products, func(_ string, p *product) bool {
		return len(p.types) == 0 || len(p.features) == 0 || p.producer == "" || p.label == ""
	})
	s.ids, s.reviews, s.countries = sortedKeys(s.products), sortedKeys(reviews), sortedKeys(countries)
	slices.SortStableFunc(s.countries, func(a, b string) int { return countries[b] - countries[a] })
	slices.Sort(s.offers)
	slices.Sort(s.validTo)
	for _, id := range s.reviews {
		s.dates = append(s.dates, dates[id])
	}
	slices.Sort(s.dates)
	if len(s.ids) == 0 || len(s.offers) == 0 || len(s.dates) == 0 || len(s.countries) < 2 || len(s.validTo) == 0 {
		return nil, fmt.Errorf("%s: no products, offers or reviews of BSBM's schema", file)
	}
	return s, nil
}

// parameters returns parameters about the n-th product and other things by n. broad chooses a type
// with many products, otherwise the type is the product's most special one.
func (s *shop) parameters(n int, broad bool) parameters {
	// 1. A product with its types from special to general, and its features from frequent to rare.
	id := s.ids[n%len(s.ids)]
	p := s.products[id]
	rareFirst := func(a, b string) int { return cmp.Or(s.populated[a]-s.populated[b], cmp.Compare(a, b)) }
	types := slices.SortedFunc(slices.Values(p.types), rareFirst)
	kind := types[0]
	if broad {
		kind = types[max(0, len(types)-2)]
	}
	features := slices.SortedFunc(slices.Values(p.features), rareFirst)
	slices.Reverse(features)
	feature := func(i int) string { return features[i%len(features)] }
	// 2. Months around the middle of the reviews.
	middle := s.dates[len(s.dates)/2][:len("2006-01")]
	year, _ := strconv.Atoi(middle[:4]) // dates begin with YYYY-MM
	month, _ := strconv.Atoi(middle[5:7])
	date := func(later int) string {
		m := year*12 + month - 1 + later
		return fmt.Sprintf("%04d-%02d-01", m/12, m%12+1)
	}
	words := strings.Fields(p.label)
	return parameters{
		"Product": id, "ProductXYZ": id, "ProductType": kind, "Producer": p.producer,
		"ProductFeature1": feature(0), "ProductFeature2": feature(1), "ProductFeature3": feature(2),
		"x": strconv.Itoa(p.numbers[1] - 500), "y": strconv.Itoa(p.numbers[3] + 500),
		"word1":    words[len(words)-1],
		"OfferXYZ": s.offers[n*7%len(s.offers)], "ReviewXYZ": s.reviews[n*7%len(s.reviews)],
		"currentDate": s.validTo[len(s.validTo)/2],
		"Country":     s.countries[1], "Country1": s.countries[0], "Country2": s.countries[1],
		"ConsecutiveMonth_0": date(-1), "ConsecutiveMonth_1": date(0), "ConsecutiveMonth_2": date(1),
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
