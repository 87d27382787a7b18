// The states of accumulators as bytes, for temporary files.

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
//	byte    the kind of the value: 0 unbound, 1 an error, 2 a term
//	text    the reason of an error, or the whole encoded term
//	text    of GROUP_CONCAT
//	texts   of DISTINCT: the seen values, up to the end
//	digests of COUNT(DISTINCT): 16 bytes each, up to the end
//
// A text is its length as an uvarint, and its bytes. Digests are valid in this process only, and so
// are its temporary files.

const (
	stateUnbound = iota
	stateError
	stateTerm
)

var errState = errors.New("the state of an aggregate is damaged")

// AppendState appends the state of acc, for Merge of another accumulator of the same aggregate.
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
	if acc.aggregate.function == ast.AggCount {
		for d := range acc.seen {
			dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, d.hi), d.lo)
		}
	}
	return dst
}

// Merge adds the solutions of another accumulator after those of acc. It fails if grow does, or
// if the state is invalid. After an error of grow, the same state may be merged into another
// accumulator.
func (acc *Accumulator) Merge(state string) error {
	// 1. Decode the state. It comes from a temporary file, and may be damaged.
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
	// 2. Its value: none, an error or a term.
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
	// 3. Add it as if its rows followed those of acc. An error stays one.
	switch {
	case acc.value.kind == Error:
		return nil
	case kind == stateError:
		acc.value = value
		return nil
	case acc.aggregate.keepsAll() && acc.aggregate.function == ast.AggCount:
		return acc.mergeDigests(rest)
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

// keepsAll reports whether the state holds all added values, each once.
func (a *Aggregate) keepsAll() bool {
	switch a.function {
	case ast.AggMin, ast.AggMax, ast.AggSample:
		return false
	}
	return a.distinct
}

// mergeDigests adds the digests of another accumulator's set.
func (acc *Accumulator) mergeDigests(state string) error {
	for ; state != ""; state = state[16:] {
		if len(state) < 16 {
			return errState
		}
		bytes := []byte(state[:16])
		// A term may be in both states, and must count once.
		fresh, err := acc.isNewDigest(Digest{binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint64(bytes[8:])}, 0)
		if err != nil {
			return err
		}
		if fresh {
			acc.count++
		}
	}
	return nil
}

// mergeSeen adds the values of another accumulator's set.
func (acc *Accumulator) mergeSeen(state string) error {
	for state != "" {
		key, rest, ok := cutText(state)
		if !ok {
			return errState
		}
		state = rest
		acc.key = append(acc.key[:0], key...)
		// A term may be in both states, and must count once.
		fresh, err := acc.isNew()
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		// The state has only the keys, so the value must be decoded from its term.
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
