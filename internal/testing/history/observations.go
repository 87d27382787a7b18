// Observations: what committed transactions read, less what they appended themselves.

package history

import (
	"fmt"
	"slices"
)

// element is an element of the list of a key.
type element struct{ key, value int }

// writer is who appended an element.
type writer struct {
	txn int
	// final is set if it is the transaction's last append to the key.
	final bool
}

// observation is a read of a list.
type observation struct {
	txn, key int
	list     []int // complete
	external int   // how many elements of the list are not the transaction's own
}

// observations has what the transactions of a history wrote and read.
type observations struct {
	txns      []Txn
	writers   map[element]writer
	reads     []observation
	committed []bool // by transaction: it is committed, as far as anybody knows
}

// observe indexes the appends and reads of a history. It fails if two appends have the same element.
func observe(h []Txn, report *Report) (*observations, error) {
	o := &observations{txns: h, writers: map[element]writer{}, committed: make([]bool, len(h))}
	// 1. All writers must be known before the reads, because transactions overlap.
	for i, t := range h {
		o.committed[i] = t.Outcome == Committed
		last := map[int]element{}
		for _, op := range t.Ops {
			if op.Kind != Append {
				continue
			}
			e := element{op.Key, op.Value}
			if w, ok := o.writers[e]; ok {
				return nil, fmt.Errorf("element %d of list %d is appended by T%d and by T%d, and must be unique", op.Value, op.Key, w.txn, i)
			}
			if before, ok := last[op.Key]; ok {
				o.writers[before] = writer{i, false}
			}
			o.writers[e] = writer{i, true}
			last[op.Key] = e
		}
	}
	// 2. Results of others are not known.
	for i, t := range h {
		if t.Outcome == Committed {
			o.read(i, report)
		}
	}
	return o, nil
}

// read gathers the reads of a transaction, if they agree with each other and with its own appends.
func (o *observations) read(txn int, report *Report) {
	appended := map[int][]int{} // by key, the transaction's appends so far
	external := map[int][]int{} // by key, what its first read had before them
	for _, op := range o.txns[txn].Ops {
		switch {
		case op.Torn != "":
			report.add(TornRead, fmt.Sprintf("T%d read of key %d: %s", txn, op.Key, op.Torn), txn)
		case op.Kind == Append:
			appended[op.Key] = append(appended[op.Key], op.Value)
		case op.Kind == Read:
			own := appended[op.Key]
			n := len(op.List) - len(own)
			if n < 0 || !slices.Equal(op.List[n:], own) {
				report.add(Internal, fmt.Sprintf("T%d appended %v to key %d, and then read %v", txn, own, op.Key, op.List), txn)
				continue
			}
			before, again := external[op.Key]
			if again && !slices.Equal(before, op.List[:n]) {
				report.add(Internal, fmt.Sprintf("T%d read of key %d what others wrote: first %v and then %v", txn, op.Key, before, op.List[:n]), txn)
				continue
			}
			external[op.Key] = op.List[:n]
			o.reads = append(o.reads, observation{txn, op.Key, op.List, n})
		}
	}
}
