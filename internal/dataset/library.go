// The data of the library.

package dataset

import (
	"context"
	"io"
	"iter"
	"strconv"
)

// libraryNS is the namespace of the classes and properties of Library.
const libraryNS = "http://trefoil.example/library#"

// Library is an application: a library's catalogue, and its loans in a named
// graph. There are
//
//	institutions http://library.example/institution/I: type Institution, name
//	    (language string), city (string);
//	3-12 authors .../author/I-A of each: type Author, name (string), affiliation,
//	    born (xsd:date, 1920-1999);
//	0-7 books .../book/I-A-B of each: type Book, title (language string), isbn
//	    (string), publisher, published (xsd:date, 1950-2025), pages (xsd:integer,
//	    60-1259), 1-3 authors;
//	200 publishers .../publisher/P: type Publisher, name (string);
//	loans .../loan/I-A-B-L of every fourth book, in loansGraph: book, borrower,
//	    due (xsd:date).
//
// Its clients add and delete books, lend them and take them back, and move authors to other
// institutions. They search for books by title, publisher, author, author's institution, time and
// size, and for loans.
type Library struct {
	Seed    uint64
	Triples int64 // the exact size of the initial data set; 0 means defaultTriples
}

var _ Application = Library{}

// Generate implements Generator.
func (g Library) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	return write(ctx, w, applicationSource{library{g.Seed}}, g.Triples)
}

// MediaType implements Generator.
func (g Library) MediaType() string { return MediaTypeNQuads }

// Statements implements Application.
func (g Library) Statements() iter.Seq[Statement] {
	return initial(library{g.Seed}, orDefault(g.Triples))
}

const (
	libraryVocabulary = "<" + libraryNS
	librarySite       = "<http://library.example/"
	loansGraph        = "<http://library.example/graph/loans>"

	bookName    = libraryVocabulary + "name>"
	bookTitle   = libraryVocabulary + "title>"
	bookAuthor  = libraryVocabulary + "author>"
	publishedBy = libraryVocabulary + "publisher>"
	published   = libraryVocabulary + "published>"
	pages       = libraryVocabulary + "pages>"
	affiliation = libraryVocabulary + "affiliation>"
	loanOf      = libraryVocabulary + "book>"
	borrower    = libraryVocabulary + "borrower>"
	due         = libraryVocabulary + "due>"

	publishers = 200 // publisher p is described in the unit p
	readers    = 12  // octaves of readers; they borrow by Zipf's law and are not described

	institutionTriples = 3
	publisherTriples   = 2
	authorTriples      = 4
	bookTriples        = 6 // without authors
	loanTriples        = 3
)

const (
	tagInstitution = iota
	tagAuthor
	tagBook
	tagLoan
)

// library is the source of Library. A unit is an institution with its authors and their books.
type library struct{ seed uint64 }

// author is an author of an institution, by number.
type author struct {
	institution int64
	number      int
}

// book is a book of an author, by number. It has the draws that determine its number of statements.
type book struct {
	author
	number    int
	coauthors []author
	loan      int // number of the present loan; if there is none, -1-n with n as the next number
}

func (g library) authors(institution int64) int {
	r := newStream(g.seed, tagInstitution, uint64(institution))
	return r.intBetween(3, 12)
}

func (a author) seed(g library) uint64 {
	return derive(derive(g.seed, tagInstitution, uint64(a.institution)), tagAuthor, uint64(a.number))
}

func (g library) books(a author) int {
	r := newStream(a.seed(g), tagAuthor, 0)
	return r.n(8)
}

// book draws a book. Its coauthors must be of the same institution or of earlier ones, because they
// must be in the data if the book is.
func (g library) book(a author, number int) (book, stream) {
	r := newStream(a.seed(g), tagBook, uint64(number))
	b := book{author: a, number: number, loan: -1}
	for range max(0, r.n(4)-1) {
		other := author{institution: int64(r.n(int(a.institution) + 1))}
		other.number = r.n(g.authors(other.institution))
		if other != a && (len(b.coauthors) == 0 || other != b.coauthors[0]) {
			b.coauthors = append(b.coauthors, other)
		}
	}
	if r.oneIn(4) {
		b.loan = 0
	}
	return b, r
}

// size implements source.
func (g library) size(institution int64) int64 {
	n := institutionTriples
	if institution < publishers {
		n += publisherTriples
	}
	for i := range g.authors(institution) {
		a := author{institution, i}
		n += authorTriples
		for k := range g.books(a) {
			b, _ := g.book(a, k)
			n += bookTriples + 1 + len(b.coauthors)
			if b.loan >= 0 {
				n += loanTriples
			}
		}
	}
	return int64(n)
}

// statements implements application.
func (g library) statements(institution int64) []Statement {
	// 1. The institution. Its stream must differ from the stream that decides its size.
	r := newStream(g.seed, tagInstitution, uint64(institution)+1<<63)
	s := institutionIRI(institution)
	l := r.zipf(3) % len(languages)
	v := vocabularies()[l]
	name := []string{"Institute of ", "Institut für ", "Institut – ", "Instituto de ", "Институт: ", "研究所 "}[l] +
		subjects[r.n(len(subjects))][l] + " " + strconv.FormatInt(institution, 10)
	all := []Statement{
		{S: s, P: iriType, O: libraryVocabulary + "Institution>"},
		{S: s, P: bookName, O: `"` + name + `"@` + v.tag},
		{S: s, P: libraryVocabulary + "city>", O: `"` + v.words[100+r.zipf(8)] + `"`},
	}
	// 2. A publisher, while there are any left.
	if institution < publishers {
		p := publisherIRI(int(institution))
		name := v.family[r.n(len(v.family))] + " & " + v.family[r.n(len(v.family))]
		all = append(all,
			Statement{S: p, P: iriType, O: libraryVocabulary + "Publisher>"},
			Statement{S: p, P: bookName, O: `"` + name + `"`})
	}
	// 3. The authors with their books and loans.
	for i := range g.authors(institution) {
		a := author{institution, i}
		r := newStream(a.seed(g), tagAuthor, 1)
		v := vocabularies()[r.n(len(languages))]
		all = append(all,
			Statement{S: a.iri(), P: iriType, O: libraryVocabulary + "Author>"},
			Statement{S: a.iri(), P: bookName, O: `"` + string(v.appendName(nil, &r)) + `"`},
			Statement{S: a.iri(), P: affiliation, O: s},
			Statement{S: a.iri(), P: libraryVocabulary + "born>",
				O: string(appendDate(nil, r.intBetween(1920, 1999), r.intBetween(1, 12), r.intBetween(1, 28)))})
		for k := range g.books(a) {
			b, _ := g.book(a, k)
			all = g.appendBook(all, b)
			all = g.appendLoan(all, b)
		}
	}
	return all
}

// appendBook appends a book's statements, without its loan.
func (g library) appendBook(dst []Statement, b book) []Statement {
	_, r := g.book(b.author, b.number)
	s := b.iri()
	title := g.title(&r)
	isbn := 9780000000000 + r.n(1e10)
	dst = append(dst,
		Statement{S: s, P: iriType, O: libraryVocabulary + "Book>"},
		Statement{S: s, P: bookTitle, O: title},
		Statement{S: s, P: libraryVocabulary + "isbn>", O: `"` + strconv.Itoa(isbn) + `"`},
		Statement{S: s, P: publishedBy, O: publisherIRI(r.zipf(8) % publishers)},
		Statement{S: s, P: published, O: string(appendDate(nil, r.intBetween(1950, 2025), r.intBetween(1, 12), r.intBetween(1, 28)))},
		Statement{S: s, P: pages, O: string(appendInteger(nil, 60+r.n(600)+r.n(600)))},
		Statement{S: s, P: bookAuthor, O: b.author.iri()},
	)
	for _, a := range b.coauthors {
		dst = append(dst, Statement{S: s, P: bookAuthor, O: a.iri()})
	}
	return dst
}

// title draws a book's title. Many have the same beginning, and a few have escapes.
func (g library) title(r *stream) string {
	v := vocabularies()[r.zipf(3)%len(languages)]
	text := append([]byte{'"'}, v.words[r.zipf(6)]...)
	text = append(text, v.separator...)
	text = v.appendWords(text, r, r.intBetween(1, 4), wordOctaves)
	switch r.n(20) {
	case 0:
		text = append(text, `: \"`...)
		text = v.appendWords(text, r, 2, wordOctaves)
		text = append(text, `\"`...)
	case 1:
		text = append(text, ` (caf\u00E9)`...)
	}
	return string(text) + `"@` + v.tag
}

// appendLoan appends the statements of a book's present loan, if it has one.
func (g library) appendLoan(dst []Statement, b book) []Statement {
	if b.loan < 0 {
		return dst
	}
	r := newStream(derive(b.author.seed(g), tagLoan, uint64(b.number)), tagLoan, uint64(b.loan))
	s := b.loanIRI()
	return append(dst,
		Statement{S: s, P: loanOf, O: b.iri(), G: loansGraph},
		Statement{S: s, P: borrower, O: readerIRI(r.zipf(readers)), G: loansGraph},
		Statement{S: s, P: due, O: string(appendDate(nil, 2025, r.intBetween(1, 12), r.intBetween(1, 28))), G: loansGraph})
}

func (a author) name() string {
	return strconv.FormatInt(a.institution, 10) + "-" + strconv.Itoa(a.number)
}

func (a author) iri() string { return librarySite + "author/" + a.name() + ">" }

func (b book) name() string { return b.author.name() + "-" + strconv.Itoa(b.number) }

func (b book) iri() string { return librarySite + "book/" + b.name() + ">" }

func (b book) loanIRI() string {
	return librarySite + "loan/" + b.name() + "-" + strconv.Itoa(b.loan) + ">"
}

func institutionIRI(i int64) string {
	return librarySite + "institution/" + strconv.FormatInt(i, 10) + ">"
}

func publisherIRI(p int) string { return librarySite + "publisher/" + strconv.Itoa(p) + ">" }

func readerIRI(r int) string { return librarySite + "reader/" + strconv.Itoa(r) + ">" }
