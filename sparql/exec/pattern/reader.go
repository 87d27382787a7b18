// The step from rows of the store to bindings.

package pattern

import (
	"bytes"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// Reader turns rows of the store into bindings.
type Reader struct {
	Arena   *solution.Arena
	Pattern *Pattern
	last    [4]string // bindings of the row before: the next one often shares them
	spo     []byte    // key of the triple before, without its graph
}

// BeginRange drops the triple before. It must be called when the next range begins.
func (r *Reader) BeginRange() { r.spo = r.spo[:0] }

// Read returns the bindings of a row of the store at the free and later
// positions of a; ok is false if it does not match.
func (r *Reader) Read(a *Access, key, value []byte) (found [4]string, ok bool, err error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return found, false, err
	}
	if !r.Pattern.Accept(a, &terms) {
		return found, false, nil
	}
	// If graphs are merged, a triple comes once. Its rows are neighbours.
	if r.Pattern.Graphs.Merged() {
		bare := BareKey(key, &terms)
		if bytes.Equal(bare, r.spo) {
			return found, false, nil
		}
		r.spo = append(r.spo[:0], bare...)
	}
	// If a term is long, it must be read from the value, because the key has its beginning
	// only.
	whole, err := triple.WholeTerms(terms, value)
	if err != nil {
		return found, false, err
	}
	// Neighbours often share terms: a copy is made only if the term differs.
	for _, list := range [2][]int{a.Free, a.Checked} {
		for _, position := range list {
			if r.last[position] != string(whole[position]) {
				r.last[position] = r.Arena.Copy(whole[position])
			}
			found[position] = r.last[position]
		}
	}
	return found, true, nil
}

// BareKey returns a key without its graph. The graph must be last in it.
func BareKey(key []byte, terms *triple.KeyTerms) []byte {
	if g := terms[triple.Graph]; len(g) > 0 {
		return key[:len(key)-len(g)-2]
	}
	return key
}

// Extend appends row with the found bindings to out, unless they contradict.
func (r *Reader) Extend(a *Access, out *solution.Batch, row []string, ord int32, found *[4]string) {
	for _, position := range a.Checked {
		if row[r.Pattern.Places[position].Slot] != found[position] {
			return
		}
	}
	next := out.Add(row, ord)
	for _, position := range a.Free {
		next[r.Pattern.Places[position].Slot] = found[position]
		out.AddWeight(found[position])
	}
}
