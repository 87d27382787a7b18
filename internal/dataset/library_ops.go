// The operations of the library's clients.

package dataset

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// Ops implements Application. Two operations out of three are searches. A client keeps its changes
// in memory; they stay about as large as the initial data set.
func (g Library) Ops(client, clients int) iter.Seq[Op] {
	institutions := max(1, wholeUnits(library{g.Seed}, orDefault(g.Triples)))
	mine := shareOf(institutions, client, clients)
	return func(yield func(Op) bool) {
		c := &libraryClient{
			library:      library{g.Seed},
			stream:       newStream(g.Seed, 1<<32, uint64(client)),
			institutions: institutions, client: client, clients: clients, mine: mine,
			state: make(map[int64]*shelf),
		}
		for {
			for _, op := range c.next() {
				if !yield(op) {
					return
				}
			}
		}
	}
}

// libraryClient makes one client's operations.
type libraryClient struct {
	library
	stream
	institutions    int64 // in the initial data set
	client, clients int
	mine            int              // number of the client's institutions: client, client+clients, ...
	state           map[int64]*shelf // the client's institutions that it has changed
}

// shelf is an institution's authors and books after the client's operations so far.
type shelf struct {
	institution int64
	affiliation []int64 // by author
	next        []int   // number of the next book, by author
	books       []book
}

const maxShelf = 80 // an institution with more books gets no new ones

// next returns the next operation, or two that must run together.
func (c *libraryClient) next() []Op {
	if c.mine == 0 {
		// There are more clients than institutions, so the client must add its own.
		c.mine = 1
		return []Op{{Kind: Add, Name: "found", Statements: c.statements(int64(c.client))}}
	}
	// 1. Choose an institution, an author and a book.
	s := c.pick()
	n := c.n(len(s.affiliation))
	a := author{s.institution, n}
	b, chosen := &book{author: a, loan: -1}, 0
	if len(s.books) > 0 {
		chosen = c.n(len(s.books))
		b = &s.books[chosen]
	}
	// 2. Choose the operation. The state must change with it, because later deletes must match.
	switch x := c.n(100); {
	case x < 10 && len(s.books) < maxShelf:
		added, _ := c.book(a, s.next[n])
		added.loan = -1
		s.next[n]++
		s.books = append(s.books, added)
		return []Op{{Kind: Add, Name: "new book", Statements: c.appendBook(nil, added)}}
	case x >= 70:
		return []Op{c.search(a, b)}
	case x >= 32 || len(s.books) == 0:
		return []Op{c.catalogueSearch()}
	case x < 18:
		op := Op{Kind: Delete, Name: "discard", Statements: c.appendLoan(c.appendBook(nil, *b), *b)}
		s.books = slices.Delete(s.books, chosen, chosen+1)
		return []Op{op}
	case x < 29:
		return []Op{c.lendOrReturn(b)}
	default:
		from := Statement{S: a.iri(), P: affiliation, O: institutionIRI(s.affiliation[n])}
		s.affiliation[n] = int64(c.n(int(c.institutions)))
		to := from
		to.O = institutionIRI(s.affiliation[n])
		return []Op{single(Delete, "leave institution", from), single(Add, "join institution", to)}
	}
}

// lendOrReturn returns a lent book, and lends any other.
func (c *libraryClient) lendOrReturn(b *book) Op {
	if b.loan >= 0 {
		op := Op{Kind: Delete, Name: "return", Statements: c.appendLoan(nil, *b)}
		b.loan = -2 - b.loan
		return op
	}
	b.loan = -1 - b.loan
	return Op{Kind: Add, Name: "lend", Statements: c.appendLoan(nil, *b)}
}

// pick returns one of the client's institutions, the first ones more often.
func (c *libraryClient) pick() *shelf {
	institution := int64(c.client) + int64(c.clients)*int64(min(c.n(c.mine), c.n(c.mine)))
	if s, ok := c.state[institution]; ok {
		return s
	}
	s := &shelf{institution: institution}
	for i := range c.authors(institution) {
		a := author{institution, i}
		s.affiliation = append(s.affiliation, institution)
		s.next = append(s.next, c.books(a))
		for k := range c.books(a) {
			b, _ := c.book(a, k)
			s.books = append(s.books, b)
		}
	}
	c.state[institution] = s
	return s
}

// search returns a search for an author or a book.
func (c *libraryClient) search(a author, b *book) Op {
	switch c.n(6) {
	case 0:
		return find("books of author", Search{Pattern: Statement{P: bookAuthor, O: a.iri()}})
	case 1:
		return find("book", Search{Pattern: Statement{S: b.iri(), G: DefaultGraph}})
	case 2:
		return find("loans of book", Search{Pattern: Statement{P: loanOf, O: b.iri(), G: loansGraph}})
	case 3:
		return find("what points to author", Search{Order: "osp", Prefix: []string{a.iri()}, Reverse: true, Limit: 20})
	case 4:
		shown := *b
		if shown.loan < 0 {
			shown.loan = 0
		}
		return find("loan", Search{Order: "gspo", Prefix: []string{loansGraph, shown.loanIRI()}})
	default:
		return find("books of institution", Search{
			Pattern: Statement{P: affiliation, O: institutionIRI(a.institution)},
			Follow:  []string{bookAuthor},
		})
	}
}

// catalogueSearch returns a search in the whole library.
func (c *libraryClient) catalogueSearch() Op {
	day := func(from, to int) string {
		return string(appendDate(nil, c.intBetween(from, to), c.intBetween(1, 12), c.intBetween(1, 28)))
	}
	v := vocabularies()[c.zipf(3)%len(languages)]
	switch c.n(8) {
	case 0:
		return find("books by title", Search{Order: "pos", Prefix: []string{bookTitle},
			Starts: `"` + firstRunes(v.words[c.zipf(6)], 3) + `"@` + v.tag, Limit: 50})
	case 1:
		return find("books of publisher", Search{Order: "pos", Prefix: []string{publishedBy, publisherIRI(c.zipf(8) % publishers)}, Limit: 100})
	case 2:
		return find("people by name", Search{Order: "pos", Prefix: []string{bookName},
			Starts: `"` + firstRunes(v.given[c.n(len(v.given))], 2), Limit: 50})
	case 3:
		from := day(1950, 2024)
		return find("books of a time", Search{Order: "pos", Prefix: []string{published}, GT: from, LE: day(2024, 2025), Limit: 50})
	case 4:
		return find("long books", Search{Order: "pos", Prefix: []string{pages}, GE: string(appendInteger(nil, c.intBetween(800, 1250))), Reverse: true, Limit: 20})
	case 5:
		return find("loans overdue", Search{Order: "pos", Prefix: []string{due}, LT: day(2025, 2025), Limit: 50})
	case 6:
		return find("loans of reader", Search{Pattern: Statement{P: borrower, O: readerIRI(c.zipf(readers)), G: loansGraph}})
	default:
		return find("first loans", Search{Order: "gspo", Prefix: []string{loansGraph}, Limit: 20})
	}
}

// firstRunes returns the first n characters of s, or all if there are fewer.
func firstRunes(s string, n int) string {
	end := 0
	for ; n > 0 && end < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}
