// The oracle of a store that several clients use at once and that may fail.

package workload

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// An Oracle knows which statements must be in a store and which may be, while
// clients change and read it at once and some changes have an unknown outcome. It
// takes a store for a set of statements each of which is linearizable.
//
// A change is reported by Begin before it is sent, and by End when its outcome is
// known or given up. A read is reported by Read before it is sent. No two changes of
// a statement may overlap: see [Application]. An Oracle is safe for concurrent use;
// new(Oracle) is that of an empty store.
type Oracle struct {
	mu sync.Mutex
	// Invariant: certain is a subset of possible. A statement is in possible alone
	// while a change of it is in flight, and after one of unknown outcome.
	certain, possible Model
	late              map[Statement]unknownChanges
	reads             map[*Read]bool // that have not ended
	checked           int64
	unknown           int64
}

// unknownChanges are those of a statement that may be carried out at any later time.
type unknownChanges struct{ add, delete bool }

// An Outcome is what a client knows of a change that it sent.
type Outcome uint8

// The outcomes of a change.
const (
	Done    Outcome = iota + 1 // acknowledged
	NotDone                    // rejected: nothing was changed, and nothing will be
	Unknown                    // some statements may be changed, now or later
)

// A Change is an add or a delete in flight.
type Change struct {
	op Op
	// before says of each different statement where it was.
	before map[Statement]presence
	// Least and Most bound how many statements it changes if it is done.
	Least, Most int
}

type presence struct{ certain, possible bool }

// Begin reports that an Add or a Delete is about to be sent.
func (o *Oracle) Begin(op Op) (*Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &Change{op: op, before: make(map[Statement]presence)}
	for _, s := range op.Statements {
		e, err := o.certain.entry(s)
		if err != nil {
			return nil, err
		}
		if _, again := c.before[s]; again {
			continue
		}
		was := presence{o.certain.has(e), o.possible.has(e)}
		c.before[s] = was
		if op.Kind == Add {
			o.possible.add(e)
		} else {
			o.certain.remove(e)
		}
		if (op.Kind == Add) != was.possible && was.certain == was.possible {
			c.Least++
		}
		if was.certain != was.possible || (op.Kind == Add) != was.possible {
			c.Most++
		}
	}
	return c, nil
}

// End reports the outcome of a change. It must be called once.
func (o *Oracle) End(c *Change, outcome Outcome) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if outcome == Unknown {
		o.unknown++
	}
	for s, was := range c.before {
		e, err := o.certain.entry(s)
		if err != nil {
			return err
		}
		late := o.late[s]
		switch {
		case outcome == Unknown:
			if o.late == nil {
				o.late = make(map[Statement]unknownChanges)
			}
			late.add = late.add || c.op.Kind == Add
			late.delete = late.delete || c.op.Kind == Delete
			o.late[s] = late
		case outcome == NotDone && c.op.Kind == Add:
			if !was.possible {
				o.possible.remove(e)
			}
		case outcome == NotDone:
			if was.certain {
				o.makeCertain(e)
			}
		case c.op.Kind == Add && !late.delete:
			o.makeCertain(e)
		case c.op.Kind == Delete && !late.add:
			o.makeImpossible(e)
		}
	}
	return nil
}

// makeCertain adds an entry to certain. Reads that began earlier need not have it.
func (o *Oracle) makeCertain(e *entry) {
	if o.certain.add(e) {
		for r := range o.reads {
			r.added.add(e)
		}
	}
}

// makeImpossible removes an entry from possible. Reads that began earlier may have it.
func (o *Oracle) makeImpossible(e *entry) {
	if o.possible.remove(e) {
		for r := range o.reads {
			r.removed.add(e)
		}
	}
}

// A Read is a search in flight. Check or Cancel ends it.
type Read struct {
	oracle *Oracle
	// added became certain and removed became impossible after the read began.
	added, removed Model
}

// Read reports that a search is about to be sent.
func (o *Oracle) Read() *Read {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reads == nil {
		o.reads = make(map[*Read]bool)
	}
	r := &Read{oracle: o}
	o.reads[r] = true
	return r
}

// Cancel ends a read that has no answer.
func (r *Read) Cancel() {
	r.oracle.mu.Lock()
	defer r.oracle.mu.Unlock()
	delete(r.oracle.reads, r)
}

// Check ends a read and returns what is wrong with its complete answer: a statement
// that cannot have been there, that was not asked for or comes twice, one that is
// missing, or a wrong order. s must have no Follow: each of its steps is a read.
func (r *Read) Check(s Search, answer []Statement) error {
	o := r.oracle
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.reads, r)
	o.checked++
	if len(s.Follow) > 0 {
		return errors.New("workload: a search with Follow is checked step by step")
	}
	if s.Limit > 0 && len(answer) > s.Limit {
		return fmt.Errorf("%d statements, of at most %d", len(answer), s.Limit)
	}
	got, last, err := r.present(s, answer)
	if err != nil {
		return err
	}
	return r.complete(s, got, last)
}

// present checks that all of an answer may be there, as asked for and in order. It
// returns the answer as a model, and its last entry.
func (r *Read) present(s Search, answer []Statement) (got *Model, last *entry, err error) {
	o := r.oracle
	order, _, matches, err := o.possible.compile(s)
	if err != nil {
		return nil, nil, err
	}
	got = new(Model)
	for i, row := range answer {
		e, err := o.possible.entry(row)
		switch {
		case err != nil:
			return nil, nil, err
		case !matches(e):
			return nil, nil, fmt.Errorf("statement %d of %d was not asked for: %v", i, len(answer), row)
		case !o.possible.has(e) && !r.removed.has(e):
			return nil, nil, fmt.Errorf("statement %d of %d cannot be there: %v", i, len(answer), row)
		case !got.add(e):
			return nil, nil, fmt.Errorf("statement %d of %d comes twice: %v", i, len(answer), row)
		case s.Order != "" && last != nil && (comparePrefix(order, last, &e.terms, 4) > 0) != s.Reverse:
			return nil, nil, fmt.Errorf("statement %d of %d is out of order: %v after %v", i, len(answer), row, last.statement)
		}
		last = e
	}
	return got, last, nil
}

// complete checks that what must be there is in an answer, up to its last entry if a
// limit has cut it.
func (r *Read) complete(s Search, got *Model, last *entry) error {
	all, err := r.oracle.certain.each(s)
	if err != nil {
		return err
	}
	cut := s.Limit > 0 && got.Len() == s.Limit
	order := max(0, slices.Index(orderNames[:], s.Order))
	for e := range all {
		if cut && (comparePrefix(order, e, &last.terms, 4) > 0) != s.Reverse {
			break
		}
		if !got.has(e) && !r.added.has(e) {
			return fmt.Errorf("short: of an answer of %d statements this one is missing: %v", got.Len(), e.statement)
		}
	}
	return nil
}

// Tally is what an Oracle has seen.
type Tally struct {
	Checked  int64 // answers
	Unknown  int64 // changes of unknown outcome
	Certain  int   // statements that must be there
	Doubtful int   // statements that may be there or not
}

// Tally returns what o has seen so far.
func (o *Oracle) Tally() Tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Tally{o.checked, o.unknown, o.certain.Len(), o.possible.Len() - o.certain.Len()}
}

// Settle takes contents, which are all that a store holds, for what it must hold: no
// change is in flight, and none of unknown outcome will be carried out any more. It
// returns what is wrong with the contents.
func (o *Oracle) Settle(contents []Statement) error {
	if err := o.Read().Check(Search{Order: "spo"}, contents); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.certain, o.possible, o.late = Model{}, Model{}, nil
	for _, m := range []*Model{&o.certain, &o.possible} {
		if _, err := m.Apply(Op{Kind: Add, Statements: contents}); err != nil {
			return err
		}
	}
	return nil
}
