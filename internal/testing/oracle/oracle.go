// The oracle of a store with several clients and failures.

package oracle

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/dataset"
)

// An Oracle keeps the statements that must be in a store, and those that may be. Clients may change
// and read the store at once, and some changes may have an unknown outcome. It treats a store as a
// set of statements, each of which is linearizable.
//
// A change must be reported by Begin before it is sent, and by End when its outcome is known or
// given up. A read must be reported by Read before it is sent. Changes of one statement must not
// overlap: see [Application]. An Oracle is safe for concurrent use; new(Oracle) is that of an empty
// store.
type Oracle struct {
	mu sync.Mutex
	// Invariant: certain is a subset of possible. A statement is only in possible while a change of
	// it is in flight, and after a change of unknown outcome.
	certain, possible Model
	late              map[dataset.Statement]unknownChanges
	reads             map[*Read]bool // not ended
	checked           int64
	unknown           int64
}

// unknownChanges are the changes of a statement that may still be made at any time.
type unknownChanges struct{ add, delete bool }

// An Outcome is a client's knowledge of a change that it sent.
type Outcome uint8

// The outcomes of a change.
const (
	Done    Outcome = iota + 1 // acknowledged
	NotDone                    // rejected: nothing was changed, and nothing will be
	Unknown                    // some statements may be changed, now or later
)

// A Change is an add or a delete in flight.
type Change struct {
	op dataset.Op
	// before says of each different statement where it was.
	before map[dataset.Statement]presence
	// Least and Most bound the number of statements changed if it is done.
	Least, Most int
}

type presence struct{ certain, possible bool }

// Begin reports that an Add or a Delete will be sent. It must be called before.
func (o *Oracle) Begin(op dataset.Op) (*Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &Change{op: op, before: make(map[dataset.Statement]presence)}
	// From now on, added statements are possible, and deleted ones are no longer certain.
	for _, s := range op.Statements {
		e, err := o.certain.entry(s)
		if err != nil {
			return nil, err
		}
		// A statement may be in the operation twice. It counts once.
		if _, again := c.before[s]; again {
			continue
		}
		was := presence{o.certain.has(e), o.possible.has(e)}
		c.before[s] = was
		if op.Kind == dataset.Add {
			o.possible.add(e)
		} else {
			o.certain.remove(e)
		}
		// Least counts sure effects. Most also counts effects on statements of unknown state.
		if (op.Kind == dataset.Add) != was.possible && was.certain == was.possible {
			c.Least++
		}
		if was.certain != was.possible || (op.Kind == dataset.Add) != was.possible {
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
	// The outcome decides for each statement, unless a late change of the other kind may still
	// follow.
	for s, was := range c.before {
		e, err := o.certain.entry(s)
		if err != nil {
			return err
		}
		late := o.late[s]
		switch {
		// An unknown change may take effect later, even after a change of the other kind.
		case outcome == Unknown:
			if o.late == nil {
				o.late = make(map[dataset.Statement]unknownChanges)
			}
			late.add = late.add || c.op.Kind == dataset.Add
			late.delete = late.delete || c.op.Kind == dataset.Delete
			o.late[s] = late
		// Not done: undo the step of Begin.
		case outcome == NotDone && c.op.Kind == dataset.Add:
			if !was.possible {
				o.possible.remove(e)
			}
		case outcome == NotDone:
			if was.certain {
				o.makeCertain(e)
			}
		case c.op.Kind == dataset.Add && !late.delete:
			o.makeCertain(e)
		case c.op.Kind == dataset.Delete && !late.add:
			o.makeImpossible(e)
		}
	}
	return nil
}

// makeCertain adds an entry to certain. If a read began earlier, it need not have it.
func (o *Oracle) makeCertain(e *entry) {
	if o.certain.add(e) {
		for r := range o.reads {
			r.added.add(e)
		}
	}
}

// makeImpossible removes an entry from possible. If a read began earlier, it may have it.
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
	// added became certain, and removed became impossible, after the read began.
	added, removed Model
}

// Read reports that a search will be sent. It must be called before.
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

// Cancel ends a read without an answer.
func (r *Read) Cancel() {
	r.oracle.mu.Lock()
	defer r.oracle.mu.Unlock()
	delete(r.oracle.reads, r)
}

// Check ends a read and returns an error if its complete answer is wrong: a statement is
// impossible, does not match, is repeated or is missing, or the order is wrong. s must have no
// Follow, because each of its steps is a read.
func (r *Read) Check(s dataset.Search, answer []dataset.Statement) error {
	o := r.oracle
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.reads, r)
	o.checked++
	if len(s.Follow) > 0 {
		return errors.New("oracle: a search with Follow is checked step by step")
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

// present checks that each statement of an answer is possible, matches, and is in order. It returns
// the answer as a model, and its last entry.
func (r *Read) present(s dataset.Search, answer []dataset.Statement) (got *Model, last *entry, err error) {
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

// complete checks that no certain statement is missing in an answer. If a limit has cut it, only
// the part up to its last entry counts.
func (r *Read) complete(s dataset.Search, got *Model, last *entry) error {
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

// Tally counts the work of an Oracle.
type Tally struct {
	Checked  int64 // answers
	Unknown  int64 // changes of unknown outcome
	Certain  int   // statements that must be in the store
	Doubtful int   // statements that may be in the store
}

// Tally returns the counts so far.
func (o *Oracle) Tally() Tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Tally{o.checked, o.unknown, o.certain.Len(), o.possible.Len() - o.certain.Len()}
}

// SetState replaces the oracle's state by contents, all statements of a store. No change may be in
// flight, and none of unknown outcome may still be made. It returns an error if the contents are
// wrong.
func (o *Oracle) SetState(contents []dataset.Statement) error {
	if err := o.Read().Check(dataset.Search{Order: "spo"}, contents); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.certain, o.possible, o.late = Model{}, Model{}, nil
	for _, m := range []*Model{&o.certain, &o.possible} {
		if _, err := m.Apply(dataset.Op{Kind: dataset.Add, Statements: contents}); err != nil {
			return err
		}
	}
	return nil
}
