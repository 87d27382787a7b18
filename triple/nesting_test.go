// Tests of the depth of triple terms.

package triple

import (
	"errors"
	"strings"
	"testing"
)

// raiseNesting sets the limit for one test.
func raiseNesting(t *testing.T, levels int) {
	t.Helper()
	SetMaxNesting(levels)
	t.Cleanup(func() { SetMaxNesting(0) })
}

// TestNesting: every reader of text takes a triple term up to the limit, and rejects a deeper one with
// the same words. Bytes of a store have no limit.
func TestNesting(t *testing.T) {
	text := func(levels int) string {
		return strings.Repeat("<<( <a:s> <a:p> ", levels) + "\"o\"" + strings.Repeat(" )>>", levels)
	}
	object := func(levels int) string {
		return strings.Repeat(`{"type":"triple","value":{"subject":{"type":"uri","value":"a:s"},"predicate":{"type":"uri","value":"a:p"},"object":`, levels) +
			`{"type":"literal","value":"o"}` + strings.Repeat("}}", levels)
	}
	readers := map[string]func(levels int) (Term, error){
		"N-Triples": func(levels int) (Term, error) {
			sc := NewScanner(strings.NewReader("<a:s> <a:p> "+text(levels)+" ."), ScanOptions{})
			if !sc.Scan() {
				return Term{}, sc.Err()
			}
			return sc.Triple().Object.Clone(), nil
		},
		"text": func(levels int) (Term, error) { return ParseTerm(text(levels)) },
		"JSON": func(levels int) (Term, error) { return ParseTermJSON([]byte(object(levels))) },
		"NDJSON": func(levels int) (Term, error) {
			tr, _, err := ParseAnnotatedJSON([]byte(`{"s":{"type":"uri","value":"a:s"},"p":{"type":"uri","value":"a:p"},"o":` + object(levels) + `}`))
			return tr.Object, err
		},
		"NDJSON with a text": func(levels int) (Term, error) {
			line := AppendJSONString([]byte(`{"s":{"type":"uri","value":"a:s"},"p":{"type":"uri","value":"a:p"},"o":`), text(levels))
			tr, _, err := ParseAnnotatedJSON(append(line, '}'))
			return tr.Object, err
		},
		"starts": func(levels int) (Term, error) {
			starts, err := ParseStarts(text(levels))
			if err != nil {
				return Term{}, err
			}
			return DecodeTerm(append([]byte{tagTriple}, starts.Text...))
		},
	}
	for name, read := range readers {
		for _, limit := range []int{0, 3, 250} {
			raiseNesting(t, limit)
			most := MaxNesting()
			if term, err := read(most); err != nil || term.Levels(1000) != most || term.CheckNesting() != nil {
				t.Errorf("%s: %d levels: %v", name, most, err)
			}
			if _, err := read(most + 1); err == nil || !strings.Contains(err.Error(), tooDeep()) {
				t.Errorf("%s: %d levels: %v", name, most+1, err)
			}
		}
	}
	// A row of a store is decoded whatever its depth.
	raiseNesting(t, 500)
	deep, err := ParseTerm(text(500))
	SetMaxNesting(0)
	if again, e := DecodeTerm(AppendWholeTerm(nil, deep)); err != nil || e != nil || again != deep || deep.Check() != nil {
		t.Errorf("decoded: %v, %v", err, e)
	}
	if err := deep.CheckNesting(); !errors.Is(err, ErrBadTerm) || deep.Levels(100) != 101 || deep.Levels(1000) != 500 {
		t.Errorf("%v, %d levels", err, deep.Levels(1000))
	}
}
