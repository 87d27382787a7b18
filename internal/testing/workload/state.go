// The states of lists and counters, as they were read.

package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// state is what was read of a list or counter.
type state struct {
	numbers  []string // lengths or values: one, or none before anything was written
	elements []string // position:element
}

// states has what a transaction read.
type states struct {
	byKey map[cellKey]state
	torn  string // why nothing is known; "" if byKey counts
}

// addTriple adds a triple of a list or counter.
func (s states) addTriple(k cellKey, predicate, object string) {
	one := s.byKey[k]
	if predicate == elementIRI {
		one.elements = append(one.elements, object)
	} else {
		one.numbers = append(one.numbers, object)
	}
	s.byKey[k] = one
}

// parseRecords returns the states in the records of an update. One update makes one record. It makes several if
// its WHERE has several solutions, because a list has two lengths.
func parseRecords(records []string) (states, error) {
	if len(records) != 1 {
		return states{torn: fmt.Sprintf("the update saw %d states: %q", len(records), records)}, nil
	}
	all := states{byKey: map[cellKey]state{}}
	for text := range strings.SplitSeq(records[0], ";") {
		fields := strings.Fields(text)
		if len(fields) < 3 {
			return states{}, fmt.Errorf("a record has %q", text)
		}
		key, err := strconv.Atoi(fields[1])
		if err != nil {
			return states{}, fmt.Errorf("a record has %q: %w", text, err)
		}
		all.byKey[cellKey{fields[0] == listSort, key}] = state{numbers: fields[2:3], elements: fields[3:]}
	}
	return all, nil
}

// results returns operations with their results in these states.
func (s states) results(ops []history.Op) []history.Op {
	results := slices.Clone(ops)
	written := map[cellKey][]int{} // by the operations before
	for i, o := range ops {
		k := keyOf(o)
		if writes(o) {
			written[k] = append(written[k], o.Value)
			continue
		}
		values, torn := s.values(k)
		values = append(values, written[k]...)
		switch {
		case torn != "":
			results[i].Torn = torn
		case k.list:
			results[i].List = values
		default:
			results[i].Value = sum(values)
		}
	}
	return results
}

// values returns the elements of a list, or the one value of a counter, or why it is torn.
func (s states) values(k cellKey) (values []int, torn string) {
	one := s.byKey[k]
	if s.torn != "" {
		return nil, s.torn
	}
	if len(one.numbers) > 1 {
		return nil, fmt.Sprintf("it has the numbers %v", one.numbers)
	}
	number := 0
	for _, text := range one.numbers {
		var err error
		if number, err = strconv.Atoi(text); err != nil {
			return nil, err.Error()
		}
	}
	if !k.list {
		return []int{number}, ""
	}
	values, whole := one.positions()
	if !whole || number != len(values) {
		return nil, fmt.Sprintf("it has length %d and the elements %v", number, one.elements)
	}
	return values, ""
}

// positions returns the elements in the order of their positions. They are not whole if a position is missing or
// there twice.
func (s state) positions() (values []int, whole bool) {
	values = make([]int, len(s.elements))
	seen := make([]bool, len(s.elements))
	for _, e := range s.elements {
		var position, value int
		if _, err := fmt.Sscanf(e, "%d:%d", &position, &value); err != nil || position < 0 || position >= len(values) || seen[position] {
			return nil, false
		}
		seen[position], values[position] = true, value
	}
	return values, true
}
