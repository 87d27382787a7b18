// The statements of a unit of BSBM.

package dataset

import "strconv"

// Classes and properties in the form of a line.
const (
	shopVocabulary = "<" + bsbmVocabulary
	shopInstance   = "<" + bsbmInstances
	dc             = " <http://purl.org/dc/elements/1.1/"
	foaf           = "<http://xmlns.com/foaf/0.1/"
	rev            = " <http://purl.org/stuff/rev#"
	bsbmCountry    = "<http://downlode.org/rdf/iso-3166/countries#"

	pComment    = " <http://www.w3.org/2000/01/rdf-schema#comment> "
	pSubClass   = " <http://www.w3.org/2000/01/rdf-schema#subClassOf> "
	pPublisher  = dc + "publisher> "
	pDate       = dc + "date> "
	pTitle      = dc + "title> "
	pHomepage   = " " + foaf + "homepage> "
	pFoafName   = " " + foaf + "name> "
	pMailDigest = " " + foaf + "mbox_sha1sum> "
	pReviewer   = rev + "reviewer> "
	pReviewText = rev + "text> "
)

// vocabularyTerm returns a property of BSBM in the form of a line.
func vocabularyTerm(name string) string { return " " + shopVocabulary + name + "> " }

// countries repeats those that are more frequent.
var countries = []string{"US", "US", "US", "US", "GB", "JP", "CN", "CN", "DE", "FR", "ES", "RU", "KR", "AT"}

// emit implements source.
func (g bsbm) emit(e *emitter, unit int64) {
	if unit == 0 {
		g.emitCatalogue(e)
		return
	}
	size := g.marketSize(unit)
	m := market{emitter: e, marketSize: size, unit: int(unit), r: newStream(g.seed, tagMarket, uint64(unit)), english: vocabularies()[english]}
	number := strconv.Itoa(m.unit)
	m.producer = shopInstance + "dataFromProducer" + number + "/Producer" + number + ">"
	m.vendor = shopInstance + "dataFromVendor" + number + "/Vendor" + number + ">"
	m.site = shopInstance + "dataFromRatingSite" + number + "/"
	m.firm(m.producer, "Producer")
	m.emitProducts()
	m.firm(m.vendor, "Vendor")
	m.emitOffers()
	m.emitReviews()
}

// parentType returns the number of the type above one; that of type 1 is 0.
func parentType(number int) int { return (number + typeBranches - 2) / typeBranches }

func (g bsbm) emitCatalogue(e *emitter) {
	m := market{emitter: e, r: newStream(g.seed, tagCatalogue, 0), english: vocabularies()[english]}
	publisher := shopInstance + "StandardizationInstitution1>"
	describe := func(s []byte, class string) {
		e.term(s, rdfType, shopVocabulary+class+">")
		m.words(s, rdfsLabel, 1, 3)
		m.words(s, pComment, 20, 50)
		e.term(s, pPublisher, publisher)
		m.day(s, pDate, 2000, 2001)
	}
	for number := 1; number <= types; number++ {
		s := m.instance("ProductType", number)
		describe(s, "ProductType")
		if number > 1 {
			e.ref(s, pSubClass, m.instance("ProductType", parentType(number)))
		}
	}
	for number := 1; number <= types*typeFeatures; number++ {
		describe(m.instance("ProductFeature", number), "ProductFeature")
	}
}

// market writes one unit.
type market struct {
	*emitter
	marketSize
	unit                   int
	r                      stream
	english                *vocabulary
	producer, vendor, site string
}

func (m *market) instance(name string, number int) []byte {
	return append(strconv.AppendInt([]byte(shopInstance+name), int64(number), 10), '>')
}

// words writes a line; its object is a plain string.
func (m *market) words(s []byte, p string, from, to int) {
	m.open(s, p)
	m.buf = append(m.buf, '"')
	m.buf = m.english.appendWords(m.buf, &m.r, m.r.intBetween(from, to), wordOctaves)
	m.buf = append(m.buf, '"')
	m.end()
}

// day writes a line; its object is a date in some years.
func (m *market) day(s []byte, p string, from, to int) {
	m.date(s, p, m.r.intBetween(from, to), m.r.intBetween(1, 12), m.r.intBetween(1, 28))
}

// midnight writes a line; its object is the beginning of a day in some years.
func (m *market) midnight(s []byte, p string, from, to int) {
	m.dateTime(s, p, m.r.intBetween(from, to), m.r.intBetween(1, 12), m.r.intBetween(1, 28), 0)
}

func (m *market) country(s []byte) {
	m.term(s, vocabularyTerm("country"), bsbmCountry+countries[m.r.n(len(countries))]+">")
}

// firm writes a producer or a vendor.
func (m *market) firm(id, class string) {
	s := []byte(id)
	m.term(s, rdfType, shopVocabulary+class+">")
	m.words(s, rdfsLabel, 1, 3)
	m.words(s, pComment, 20, 50)
	m.term(s, pHomepage, "<http://www."+class+strconv.Itoa(m.unit)+".com/>")
	m.country(s)
	m.term(s, pPublisher, id)
	m.day(s, pDate, 2000, 2006)
}

// appendProduct appends the IRI of a product, by its number in all markets from 0.
func appendProduct(dst []byte, product int) []byte {
	dst = append(dst, shopInstance+"dataFromProducer"...)
	dst = strconv.AppendInt(dst, int64(product/marketProducts+1), 10)
	dst = append(dst, "/Product"...)
	dst = strconv.AppendInt(dst, int64(product+1), 10)
	return append(dst, '>')
}

func (m *market) emitProducts() {
	var s []byte
	for i := 0; i < marketProducts && !m.done(); i++ {
		// 1. The product and its types, from special to general.
		s = appendProduct(s[:0], (m.unit-1)*marketProducts+i)
		m.term(s, rdfType, shopVocabulary+"Product>")
		m.words(s, rdfsLabel, 1, 3)
		m.words(s, pComment, 40, 120)
		var chain [productLevels]int
		kind := types - m.r.n(typeBranches*typeBranches)
		for level := range chain {
			chain[level] = kind
			m.ref(s, rdfType, m.instance("ProductType", kind))
			kind = parentType(kind)
		}
		// 2. The features of these types.
		var features [maxFeatures]int
		drawn := features[:m.features[i]]
		m.r.distinct(drawn, productLevels*typeFeatures)
		for _, f := range drawn {
			m.ref(s, vocabularyTerm("productFeature"), m.instance("ProductFeature", (chain[f/typeFeatures]-1)*typeFeatures+f%typeFeatures+1))
		}
		// 3. Texts, numbers and the producer.
		for n := 1; n <= 3+m.texts[i]; n++ {
			m.words(s, vocabularyTerm("productPropertyTextual"+strconv.Itoa(n)), 3, 15)
		}
		for n := 1; n <= 3+m.numbers[i]; n++ {
			m.integer(s, vocabularyTerm("productPropertyNumeric"+strconv.Itoa(n)), m.r.intBetween(1, 2000))
		}
		m.term(s, vocabularyTerm("producer"), m.producer)
		m.term(s, pPublisher, m.producer)
		m.day(s, pDate, 2001, 2007)
	}
}

// aProduct returns a product that the market may offer or review.
func (m *market) aProduct() int {
	window := min(marketWindow, m.unit)
	return (m.unit-window)*marketProducts + m.r.n(window*marketProducts)
}

func (m *market) emitOffers() {
	vendor := strconv.Itoa(m.unit)
	for i := 0; i < marketOffers && !m.done(); i++ {
		number := strconv.Itoa((m.unit-1)*marketOffers + i + 1)
		s := []byte(shopInstance + "dataFromVendor" + vendor + "/Offer" + number + ">")
		m.term(s, rdfType, shopVocabulary+"Offer>")
		m.ref(s, vocabularyTerm("product"), appendProduct(nil, m.aProduct()))
		m.term(s, vocabularyTerm("vendor"), m.vendor)
		m.open(s, vocabularyTerm("price"))
		m.buf = append(m.buf, '"')
		m.number(m.r.intBetween(5, 9999))
		m.buf = append(m.buf, '.')
		m.buf = appendTwo(m.buf, m.r.n(100))
		m.buf = append(m.buf, `"^^`+shopVocabulary+`USD>`...)
		m.end()
		m.midnight(s, vocabularyTerm("validFrom"), 2007, 2007)
		m.midnight(s, vocabularyTerm("validTo"), 2008, 2009)
		m.integer(s, vocabularyTerm("deliveryDays"), m.r.intBetween(1, 7))
		m.term(s, vocabularyTerm("offerWebpage"), "<http://www.Vendor"+vendor+".com/offers/Offer"+number+">")
		m.term(s, pPublisher, m.vendor)
		m.day(s, pDate, 2007, 2007)
	}
}

func (m *market) emitReviews() {
	site := m.site + "RatingSite" + strconv.Itoa(m.unit) + ">"
	for i := 0; i < marketReviews && !m.done(); i++ {
		// The person, before the first review.
		person := m.site + "Reviewer" + strconv.Itoa((m.unit-1)*marketPersons+i/personReviews+1) + ">"
		if i%personReviews == 0 {
			s := []byte(person)
			m.term(s, rdfType, foaf+"Person>")
			m.open(s, pFoafName)
			m.buf = append(m.buf, '"')
			m.buf = m.english.appendName(m.buf, &m.r)
			m.buf = append(m.buf, '"')
			m.end()
			m.term(s, pMailDigest, `"`+strconv.FormatUint(m.r.pcg.Uint64(), 16)+`"`)
			m.country(s)
			m.term(s, pPublisher, site)
			m.day(s, pDate, 2008, 2008)
		}
		s := []byte(m.site + "Review" + strconv.Itoa((m.unit-1)*marketReviews+i+1) + ">")
		m.term(s, rdfType, shopVocabulary+"Review>")
		m.ref(s, vocabularyTerm("reviewFor"), appendProduct(nil, m.aProduct()))
		m.term(s, pReviewer, person)
		m.words(s, pTitle, 4, 15)
		v := vocabularies()[max(m.r.zipf(4)%len(languages)-1, english)]
		m.open(s, pReviewText)
		m.buf = append(m.buf, '"')
		m.buf = v.appendWords(m.buf, &m.r, m.r.intBetween(50, 200), wordOctaves)
		m.endText(v.tag)
		for k := range 4 {
			if m.ratings[i]>>k&1 == 1 {
				m.integer(s, vocabularyTerm("rating"+strconv.Itoa(k+1)), m.r.intBetween(1, 10))
			}
		}
		m.midnight(s, vocabularyTerm("reviewDate"), 2006, 2007)
		m.term(s, pPublisher, site)
		m.day(s, pDate, 2008, 2008)
	}
}
