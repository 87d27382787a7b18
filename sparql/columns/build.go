// How a set is built from rows.

package columns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// ErrTooLarge means that a set would take more memory than allowed.
var ErrTooLarge = errors.New("columns: the set takes more memory than allowed")

// checkRows is how many rows are read between two checks of the context and the memory.
const checkRows = 1 << 14

// Build returns the set of a source's default graph. If the source is not of one state, predicates whose
// rows change meanwhile may have wrong columns: the caller must know them by the change feed. While it
// runs it takes up to three times the memory of the set. If the set would take more than limit bytes,
// the error is [ErrTooLarge].
func Build(ctx context.Context, src source.Source, limit int64) (*Set, error) {
	return BuildSome(ctx, src, limit, nil)
}

// BuildSome is Build for some predicates in their key form; nil is all.
func BuildSome(ctx context.Context, src source.Source, limit int64, only map[string]struct{}) (*Set, error) {
	b := builder{ctx: ctx, src: src, limit: limit, only: only, rows: map[string]*int{}, set: &Set{columns: map[string]*Column{}, partial: only != nil}}
	if err := b.terms(); err != nil {
		return nil, fmt.Errorf("dictionary: %w", err)
	}
	b.set.Dictionary.finish()
	// Two terms may have one hash. Then other hashes are tried.
	err := b.number()
	for try := 0; errors.Is(err, errOneHash) && try < 3; try++ {
		err = b.number()
	}
	if err != nil {
		return nil, err
	}
	if err := b.lists(triple.SPO); err != nil {
		return nil, fmt.Errorf("lists by subject: %w", err)
	}
	if err := b.lists(triple.OSP); err != nil {
		return nil, fmt.Errorf("lists by object: %w", err)
	}
	b.set.bytes = b.set.Dictionary.bytes()
	for predicate, c := range b.set.columns {
		if c.ByObject.Values() != c.BySubject.Values() {
			b.tear(predicate)
		}
		b.set.rows += c.Rows()
		b.set.bytes += predicateBytes + int64(len(predicate)) + c.bytes()
	}
	b.set.predicates = slices.Sorted(maps.Keys(b.set.columns))
	if b.set.bytes > limit {
		return nil, ErrTooLarge
	}
	return b.set, nil
}

// builder is the state of [Build].
type builder struct {
	ctx   context.Context
	src   source.Source
	limit int64
	only  map[string]struct{} // nil is all predicates
	set   *Set

	rows    map[string]*int // of each predicate, as the dictionary was made
	seed    maphash.Seed
	numbers map[uint64]uint32 // of terms by their hashes
}

// scan calls each for the terms of each row of the default graph.
func (b *builder) scan(order triple.Order, each func(terms *triple.KeyTerms) error) error {
	rows, err := b.src.Scan(b.ctx, triple.OrderRange(order), false)
	if err != nil {
		return err
	}
	for n := 1; err == nil && rows.Next(); n++ {
		if n%checkRows == 0 {
			if err = b.ctx.Err(); err != nil {
				break
			}
		}
		key, _ := rows.Row()
		var terms triple.KeyTerms
		if _, terms, err = triple.SplitKey(key); err == nil && b.takes(&terms) {
			err = each(&terms)
		}
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// takes reports whether the set has the triple of a row.
func (b *builder) takes(terms *triple.KeyTerms) bool {
	if len(terms[triple.Graph]) > 0 {
		return false
	}
	_, ok := b.only[string(terms[triple.Predicate])]
	return ok || b.only == nil
}

// terms makes the dictionary from the first terms of SPO and OSP.
func (b *builder) terms() error {
	subjects, objects := termStream{b: b, order: triple.SPO}, termStream{b: b, order: triple.OSP}
	defer subjects.close()
	defer objects.close()
	if err := errors.Join(subjects.open(), objects.open()); err != nil {
		return err
	}
	var last []byte
	d := &b.set.Dictionary
	for n := 1; subjects.term != nil || objects.term != nil; n++ {
		// 1. Take the smaller term, or both if they are equal.
		from, other := &subjects, &objects
		if from.term == nil || other.term != nil && bytes.Compare(other.term, from.term) < 0 {
			from, other = other, from
		}
		if !d.add(from.term, last) || d.bytes() > b.limit {
			return ErrTooLarge
		}
		last = append(last[:0], from.term...)
		// 2. Move on.
		if other.term != nil && bytes.Equal(other.term, last) {
			if err := other.next(); err != nil {
				return err
			}
		}
		if err := from.next(); err != nil {
			return err
		}
	}
	return nil
}

// termStream gives the distinct first terms of an order's rows.
type termStream struct {
	b     *builder
	order triple.Order
	rows  source.Rows
	term  []byte // nil at the end
	seen  int
}

func (s *termStream) open() (err error) {
	if s.rows, err = s.b.src.Scan(s.b.ctx, triple.OrderRange(s.order), false); err != nil {
		return err
	}
	s.term = []byte{}
	return s.next()
}

// next moves to the next term.
func (s *termStream) next() error {
	position := s.order.Positions()[0]
	for s.rows.Next() {
		if s.seen++; s.seen%checkRows == 0 && s.b.ctx.Err() != nil {
			return s.b.ctx.Err()
		}
		key, _ := s.rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		if !s.b.takes(&terms) {
			continue
		}
		if s.order == triple.SPO {
			s.b.count(terms[triple.Predicate])
		}
		if bytes.Equal(terms[position], s.term) {
			continue
		}
		s.term = append(s.term[:0], terms[position]...)
		return nil
	}
	s.term = nil
	return s.rows.Err()
}

func (s *termStream) close() {
	if s.rows != nil {
		_ = s.rows.Close() // errors of reads were returned
	}
}

// Memory of a build: what an entry of numbers takes about, and how many times the limit of the set a
// build may take.
const (
	numberBytes = 24
	buildShare  = 3
)

// predicateBytes is about what a predicate takes beside its pairs and its key form, in a set or while
// it is built.
const predicateBytes = 400

var errOneHash = errors.New("columns: two terms have one hash")

// number makes the numbers of all terms.
func (b *builder) number() error {
	d := &b.set.Dictionary
	if int64(d.n)*numberBytes > buildShare*b.limit {
		return ErrTooLarge
	}
	b.seed = maphash.MakeSeed()
	b.numbers = make(map[uint64]uint32, d.n)
	var term []byte
	for i := range d.n {
		if i%checkRows == 0 && b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		term = d.Append(term[:0], uint32(i+1))
		b.numbers[maphash.Bytes(b.seed, term)] = uint32(i + 1)
	}
	if len(b.numbers) < d.n {
		return errOneHash
	}
	return nil
}

// count counts a row of a predicate.
func (b *builder) count(predicate []byte) {
	n := b.rows[string(predicate)]
	if n == nil {
		n = new(int)
		b.rows[string(predicate)] = n
	}
	*n++
}

// tear records that rows of a predicate changed between two scans.
func (b *builder) tear(predicate string) {
	if b.set.torn == nil {
		b.set.torn = map[string]struct{}{}
	}
	b.set.torn[predicate] = struct{}{}
}

// lists makes the lists of all columns from the rows of SPO or OSP.
func (b *builder) lists(order triple.Order) error {
	keyAt, valueAt := triple.Subject, triple.Object
	if order == triple.OSP {
		keyAt, valueAt = valueAt, keyAt
	}
	// 1. Collect the pairs. Each order has those of a predicate sorted by key, then value.
	building := map[string]*listsBuilder{}
	var last []byte
	key, longKey, held := uint32(0), false, int64(0)
	some := false // last is set
	err := b.scan(order, func(terms *triple.KeyTerms) error {
		l := building[string(terms[triple.Predicate])]
		if l == nil {
			rows := 0 // if the rows are not of one state, there may be others
			if n := b.rows[string(terms[triple.Predicate])]; n != nil {
				rows = *n
			}
			held += predicateBytes + int64(len(terms[triple.Predicate])) + 4*int64(rows)
			if held > buildShare*b.limit {
				return ErrTooLarge
			}
			l = &listsBuilder{values: make([]uint32, 0, rows)}
			building[string(terms[triple.Predicate])] = l
		}
		if held > buildShare*b.limit || uint64(len(l.values)) >= math.MaxUint32 {
			return ErrTooLarge
		}
		if !some || !bytes.Equal(last, terms[keyAt]) {
			some = true
			last = append(last[:0], terms[keyAt]...)
			key = b.numbers[maphash.Bytes(b.seed, last)]
			longKey = triple.IsLongTerm(last)
		}
		l.longKeys = l.longKeys || longKey
		l.longValues = l.longValues || triple.IsLongTerm(terms[valueAt])
		value := b.numbers[maphash.Bytes(b.seed, terms[valueAt])]
		if key == 0 || value == 0 {
			b.tear(string(terms[triple.Predicate]))
			return nil
		}
		held += l.add(key, value)
		return nil
	})
	if err != nil {
		return err
	}
	// 2. Pack them.
	for predicate, l := range building {
		if order == triple.SPO {
			c := &Column{LongSubjects: l.longKeys, LongObjects: l.longValues}
			c.BySubject = l.lists()
			b.set.columns[predicate] = c
			b.set.long = b.set.long || c.LongSubjects || c.LongObjects
			continue
		}
		c := b.set.columns[predicate]
		if c == nil {
			c = &Column{}
			b.set.columns[predicate] = c
		}
		c.ByObject = l.lists()
	}
	return nil
}
