package expr

import (
	"encoding/binary"
	"errors"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// The state of an accumulator, as groups are written to temporary files:
//
//	uvarint count
//	byte    what the value is: 0 unbound, 1 an error, 2 a term
//	text    why it is an error, or the whole encoded term
//	text    of GROUP_CONCAT
//	texts   of DISTINCT: what was seen, up to the end
//
// A text is its length as an uvarint, and its bytes.

const (
	stateUnbound = iota
	stateError
	stateTerm
)

var errState = errors.New("the state of an aggregate is damaged")

// AppendState appends what acc knows, for Merge of another accumulator of the same
// aggregate.
func (acc *Accumulator) AppendState(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(acc.count))
	switch v := acc.value; {
	case v.kind == Unbound:
		dst = appendText(append(dst, stateUnbound), "")
	case v.kind == Error:
		dst = appendText(append(dst, stateError), v.term.Value())
	default:
		dst = appendText(append(dst, stateTerm), string(triple.AppendWholeTerm(nil, v.Term())))
	}
	dst = appendText(dst, string(acc.text))
	for _, key := range acc.order {
		dst = appendText(dst, key)
	}
	return dst
}

// Merge adds the solutions that another accumulator saw after those of acc. An
// error is one of grow, after which the same state may be merged into another
// accumulator, or one of a state that is none.
func (acc *Accumulator) Merge(state string) error {
	count, n := binary.Uvarint([]byte(state[:min(len(state), binary.MaxVarintLen64)]))
	if n <= 0 || n >= len(state) {
		return errState
	}
	kind := state[n]
	term, rest, ok1 := cutText(state[n+1:])
	text, rest, ok2 := cutText(rest)
	if !ok1 || !ok2 || kind > stateTerm {
		return errState
	}
	var value Value
	switch kind {
	case stateError:
		value = errorValue(term)
	case stateTerm:
		t, err := triple.DecodeTerm([]byte(term))
		if err != nil {
			return err
		}
		value = FromTerm(t).Parsed()
	}
	switch {
	case acc.value.kind == Error:
		return nil
	case kind == stateError:
		acc.value = value
		return nil
	case acc.aggregate.keepsAll():
		return acc.mergeSeen(rest)
	case acc.aggregate.function == ast.AggGroupConcat:
		if count == 0 {
			return nil
		}
		return acc.concat(text, int64(count))
	case count == 0:
		return nil
	case acc.aggregate.function == ast.AggSum || acc.aggregate.function == ast.AggAvg:
		acc.value = arithmetic(ast.OpAdd, acc.value, value)
	case kind == stateTerm:
		if err := acc.choose(value); err != nil {
			return err
		}
	}
	acc.count += int64(count)
	return nil
}

// keepsAll reports whether what a was given is among its state, each value once.
func (a *Aggregate) keepsAll() bool {
	switch a.function {
	case ast.AggMin, ast.AggMax, ast.AggSample:
		return false
	}
	return a.distinct
}

// mergeSeen adds values that another accumulator saw.
func (acc *Accumulator) mergeSeen(state string) error {
	for state != "" {
		key, rest, ok := cutText(state)
		if !ok {
			return errState
		}
		state = rest
		acc.key = append(acc.key[:0], key...)
		fresh, err := acc.isNew()
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		if acc.aggregate.arg == nil {
			acc.count++
			continue
		}
		t, err := triple.DecodeTerm([]byte(key))
		if err != nil {
			return err
		}
		if err := acc.add(FromTerm(t)); err != nil {
			return err
		}
	}
	return nil
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func cutText(state string) (text, rest string, ok bool) {
	size, n := binary.Uvarint([]byte(state[:min(len(state), binary.MaxVarintLen64)]))
	if n <= 0 || size > uint64(len(state)-n) {
		return "", "", false
	}
	end := n + int(size)
	return state[n:end], state[end:], true
}
