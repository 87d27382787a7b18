// Fuzz tests of every decoder.

package triple

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzDecodeKey: hostile keys and values must not panic. If a triple decodes, it can be written; if
// the key is the triple's own key, encoding must return it.
func FuzzDecodeKey(f *testing.F) {
	for _, t := range benchTriples(7) {
		t.Graph = NewBlank("g")
		for _, o := range Orders {
			f.Add(mustKey(o, t), AppendValue(nil, Stamp{1, 2}, t))
		}
	}
	long := Triple{NewBlank("s"), NewIRI("a:p"), NewString(string(bytes.Repeat([]byte("long"), 300))), Term{}}
	f.Add(mustKey(SPO, long), AppendValue(nil, Stamp{1, 2}, long))
	f.Add(mustKey(SPO, long), []byte{0x40, 0, 0, 0})
	f.Add([]byte{1, 0x20, 0, 1, 0x20, 0, 1, 0x20, 0}, []byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		o, terms, err := SplitKey(key)
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		if !bytes.Equal(AppendKeyOf(nil, o, terms[Subject], terms[Predicate], terms[Object], terms[Graph]), key) {
			t.Fatalf("%x splits into %x", key, terms)
		}
		gotOrder, tr, err := DecodeKey(key, value)
		line, writeErr := AppendKeyNQuad(nil, key, value)
		if err != nil {
			wantCorrupt(t, err)
			if writeErr == nil {
				t.Fatalf("%x is corrupt (%v) and is written as %q", key, err, line)
			}
			return
		}
		if writeErr != nil || gotOrder != o || string(line) != tr.String()+"\n" {
			t.Fatalf("%s, %v: %q, want %q", gotOrder, writeErr, line, tr)
		}
		if err := CheckKey(key, value); err != nil {
			wantCorrupt(t, err)
			return
		}
		if !bytes.Equal(mustKey(o, tr), key) {
			t.Fatalf("%x passes CheckKey and is not the key of %s", key, tr)
		}
		v, _ := DecodeValue(value)
		if again := AppendValue(nil, v.Stamp, tr); !v.Tombstone && !bytes.Equal(again, v.Append(nil)) {
			t.Fatalf("value %x comes back as %x", value, again)
		}
	})
}

func wantCorrupt(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("%v is no ErrCorrupt", err)
	}
}

// FuzzDecodeValue: if a value decodes, it must encode to the same bytes.
func FuzzDecodeValue(f *testing.F) {
	f.Add([]byte{0, 1, 2})
	f.Add([]byte{1, 0xFF, 1, 2})
	f.Add([]byte{0x50, 1, 2, 2, 0x35, 'x', 1, 0x35})
	f.Add(AppendAnnotation(nil, Stamp{1, 300}, []byte("data")))
	f.Add((&Annotation{Stamp: Stamp{2, 300}, On: Stamp{1, 200}, Data: []byte("data")}).Append(nil))
	f.Add((&Annotation{Stamp: Stamp{2, 300}, On: Stamp{1, 200}, Removed: true}).Append(nil))
	f.Add((&Value{Stamp: Stamp{2, 300}, Deleted: Stamp{1, 200}}).Append(nil))
	f.Add([]byte{0xF1, 1, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := DecodeAnnotation(b); err != nil {
			wantCorrupt(t, err)
		} else {
			if !IsAnnotation(b) || IsTombstone(b) != a.Removed {
				t.Fatal("an annotation that IsAnnotation or IsTombstone denies")
			}
			again, err := DecodeAnnotation(a.Append(nil))
			if err != nil || again.Stamp != a.Stamp || again.On != a.On || again.Removed != a.Removed || !bytes.Equal(again.Data, a.Data) {
				t.Fatalf("%+v comes back as %+v, %v", a, again, err)
			}
		}
		v, err := DecodeValue(b)
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		if IsAnnotation(b) || IsTombstone(b) != v.Tombstone || !v.Tombstone && DeletedAt(b) != v.Deleted || v.Tombstone && DeletedAt(b) != v.Stamp {
			t.Fatal("flags")
		}
		bare, err := DecodeValue(Bare(b))
		if err != nil || bare.Stamp != v.Stamp || bare.Tombstone != v.Tombstone || bare.Deleted != (Stamp{}) || !SameRow(b, bare.Append(nil)) && SameRow(b, v.Append(nil)) {
			t.Fatalf("%+v is %+v when it is bare, %v", v, bare, err)
		}
		again, err := DecodeValue(v.Append(nil))
		if err != nil || again.Stamp != v.Stamp || again.Tombstone != v.Tombstone || again.Deleted != v.Deleted {
			t.Fatalf("%+v comes back as %+v, %v", v, again, err)
		}
		for i := range v.Long {
			if !bytes.Equal(again.Long[i], v.Long[i]) || (again.Long[i] == nil) != (v.Long[i] == nil) {
				t.Fatalf("long term %d: %x comes back as %x", i, v.Long[i], again.Long[i])
			}
		}
	})
}

// FuzzDecodeTerm: if a decoded term encodes to the same bytes, it must be that term; nothing may
// panic.
func FuzzDecodeTerm(f *testing.F) {
	for _, t := range []Term{
		NewBlank("b"), NewIRI("a:b"), NewTyped("1", XSDInteger), NewTyped("-0.1", XSDDecimal), NewTyped("1e0", XSDDouble), NewTyped("true", XSDBoolean),
		NewTyped("2000-01-01T00:00:00.5Z", XSDDateTime), NewTyped("2000-01-01", XSDDate), NewTyped("12:00:00", XSDTime), NewString("a\x00b"), NewLang("a", "EN"), NewTyped("x", "a:t"),
		NewString(string(make([]byte, 1025))),
	} {
		key, _ := AppendTerm(nil, t)
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		term, err := DecodeTerm(b)
		text, textErr := AppendTermNT(nil, b)
		if (err == nil) != (textErr == nil) || err == nil && string(text) != term.String() {
			t.Fatalf("%v, %v: %q, %q", err, textErr, term, text)
		}
		if err != nil {
			if !errors.Is(err, ErrLongTerm) {
				wantCorrupt(t, err)
			}
			return
		}
		// A term's own bytes are always another way to write it.
		own := AppendWholeTerm(nil, term)
		again, err := DecodeTerm(own)
		if err != nil || again != term {
			t.Fatalf("%q comes back as %q, %v", term, again, err)
		}
	})
}

// FuzzCutAnnotation: the two parts of a cut key must join to the key again.
func FuzzCutAnnotation(f *testing.F) {
	key := mustKey(SPO, benchTriples(1)[0])
	f.Add(key)
	f.Add(AppendAnnotationKey(nil, key, "app"))
	f.Add([]byte{0, 4})
	f.Add([]byte{1, 0, 0xFF, 0, 4, 0})
	f.Fuzz(func(t *testing.T, key []byte) {
		version, id, ok := CutAnnotation(key)
		if !ok {
			if !bytes.Equal(version, key) {
				t.Fatalf("%x is no annotation, but its version is %x", key, version)
			}
			return
		}
		if !bytes.Equal(AppendAnnotationKey(nil, version, string(id)), key) {
			t.Fatalf("%x: version %x, id %x", key, version, id)
		}
		lo, hi := AnnotationBounds(version)
		if !(Range{lo, hi}).Contains(key) {
			t.Fatalf("%x is not in the bounds of its version", key)
		}
	})
}

// FuzzScanner: see checkScan.
func FuzzScanner(f *testing.F) {
	for _, doc := range []string{
		"<a:s> <a:p> <a:o> .\n<a:s> <a:p> \"o\"@en .\n", "_:a <a:p> \"\\u00e9\\n\"^^<a:t> <a:g> .\r\n# c\r\n", "bad\n <a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> .",
		"<a:s> <a:p> \"raw\r\n<x\" .\r_:b", "\uFEFF<a:s> <a:p> <a:o> .", "<a:\xFF> <a:p> \"\\", "<a:s> <a:p> \"\\uD83D\\uDE00\" .\n_",
		"<a:s> <a:p> <<(<a:s><a:p>\"o\"@ar--rtl)>> .\n<a:s> <a:p> <<( _:s <a:\\u00e9> <<( <a:s> <a:p> _:o )>> )>> <a:g> .\n", "VERSION \"1.2\"\n<< <a:s> <a:p> <a:o> >> <a:p> <a:o> .",
	} {
		f.Add([]byte(doc), false, uint8(7), uint8(0))
		f.Add([]byte(doc), true, uint8(16), uint8(20))
	}
	f.Fuzz(func(t *testing.T, doc []byte, quads bool, blockBytes, maxLine uint8) {
		if len(doc) > 4<<10 {
			return // the cuts of one byte take long
		}
		checkScan(t, doc, quads, int(maxLine), 1+int(blockBytes))
	})
}

// FuzzAnnotations: the annotations and errors of a document must not depend on its blocks. After a
// round trip they must be the same.
func FuzzAnnotations(f *testing.F) {
	f.Add([]byte("<a:s> <a:p> <a:o> . #@ a%20=AQID b=\n <a:s> <a:p> <a:o> . #@ c\n\t<a:s> <a:p> <a:o> .#@ c=Q\n"+AnnotationsHeader), uint8(7))
	f.Add([]byte("_:a <a:p> \"x\" <a:g> . #@ x=AQ==\r\n#@ y=\n<a:s> <a:p> <a:o> . # #@ z="), uint8(0))
	f.Fuzz(func(t *testing.T, rest []byte, blockBytes uint8) {
		if len(rest) > 4<<10 {
			return // the cuts of one byte take long
		}
		doc := append([]byte(AnnotationsHeader+"\n"), rest...)
		read := func(sc *Scanner) (events []string) {
			for {
				for sc.Scan() {
					line := string(AppendAnnotated(nil, []byte(sc.Triple().String()), sc.Annotations()))
					events = append(events, line)
					again := NewScanner(strings.NewReader(AnnotationsHeader+"\n"+line), ScanOptions{Quads: true})
					if !again.Scan() || again.Triple() != sc.Triple() || !reflect.DeepEqual(again.Annotations(), sc.Annotations()) {
						t.Fatalf("%q is read as %v %v, %v", line, again.Triple(), again.Annotations(), again.Err())
					}
				}
				if sc.Err() == nil {
					return events
				}
				events = append(events, sc.Err().Error())
				text, ok := sc.Recover()
				if !ok {
					t.Fatal(sc.Err())
				}
				events = append(events, string(text))
			}
		}
		whole := read(NewScanner(bytes.NewReader(doc), ScanOptions{Quads: true}))
		cut := read(NewScanner(bytes.NewReader(doc), ScanOptions{Quads: true, BlockBytes: 1 + int(blockBytes)}))
		if !slices.Equal(whole, cut) {
			t.Fatalf("in one block %q\nin several %q", whole, cut)
		}
	})
}

// FuzzParseText: text of users must never panic; terms and patterns must survive a round trip.
func FuzzParseText(f *testing.F) {
	for _, text := range []string{
		"<http://ex/a>", "_:b", `"Mü"@de`, `"1"^^xsd:integer`, `"x"^^<a:t>`, "42", "-1.5", "1e3", "true", "rdf:type", "? a <a:c>", "?s ?p ?o default", "<a:s> <a:p> 5.",
		`"abc\`, `"\"`, `<http://ex/`, `"Mü`, `_:`, "\"a\nb\"", `"a"^^`, `"a"^^xsd:`, "* * * .", `"x"^^rdf:langString`,
		"<<( <a:s> a <<( _:b xsd:x 5)>>)>>", `<<( <a:s> <a:p> "x`, "<<( <a:s> <<( <a:", `"x"@ar--rtl`, "? ? <<( <a:s> <a:p> ?o )>>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if term, err := ParseTerm(text); err != nil {
			if !errors.Is(err, ErrBadTerm) && !errors.Is(err, ErrTermTooLong) {
				t.Fatalf("%v", err)
			}
		} else {
			if err := term.Check(); err != nil {
				t.Fatalf("%q is parsed as %q: %v", text, term, err)
			}
			if again, err := ParseTerm(term.String()); err != nil || again != term {
				t.Fatalf("%q comes back as %q, %v", term, again, err)
			}
		}
		if p, err := ParsePattern(text); err == nil {
			again, err := ParsePattern(patternText(p))
			if err != nil || again != p {
				t.Fatalf("%q: pattern %v comes back as %v, %v", text, p, again, err)
			}
			if _, err := p.Scan(p.Best()); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := ParseStarts(text); err == nil {
			kr, err := Bounds{Order: SPO, Starts: s}.KeyRange()
			if err != nil || kr.Range.Empty() {
				t.Fatalf("%q: %+v, %v", text, kr, err)
			}
		}
	})
}

func patternText(p Pattern) string {
	text := ""
	for _, t := range []Term{p.Subject, p.Predicate, p.Object} {
		if t.IsZero() {
			text += "? "
		} else {
			text += t.String() + " "
		}
	}
	if p.DefaultGraph {
		return text + "default"
	}
	return text + p.Graph.String()
}

// FuzzBounds: for any bounds, exactly the right rows must be selected.
func FuzzBounds(f *testing.F) {
	f.Add(`"1"^^xsd:integer`, `"2"^^xsd:integer`, "<a:s> <a:p> 1.5 .", uint8(0))
	f.Add(`"a"`, `"b"`, `<a:s> <a:p> "aa" <a:g> .`, uint8(7))
	f.Add("<a:", "<b:", "_:b <a:p> <a:o> .", uint8(2))
	f.Fuzz(func(t *testing.T, low, high, triple string, form uint8) {
		terms, err := ParseTerms(triple)
		if err != nil || len(terms) < 3 || len(terms) > 4 {
			return
		}
		tr := Triple{Subject: terms[0], Predicate: terms[1], Object: terms[2]}
		if len(terms) == 4 {
			tr.Graph = terms[3]
		}
		a, errA := ParseTerm(low)
		b, errB := ParseTerm(high)
		if errA != nil || errB != nil || tr.Check() != nil {
			return
		}
		o := Orders[int(form)%3]
		bounds := Bounds{Order: o, Prefix: termsIn(o, tr)[:int(form/3)%3]}
		switch form / 9 % 5 {
		case 0:
			bounds.GE, bounds.LE = a, b
		case 1:
			bounds.GT, bounds.LT = a, b
		case 2:
			bounds.From, bounds.Until = []Term{a}, []Term{b}
		case 3:
			bounds.Starts = Starts{Kind: a.Kind(), Text: a.Value(), Lang: a.Lang()}
		case 4:
			bounds.GT, bounds.LE = b, a
		}
		kr, err := bounds.KeyRange()
		if err != nil {
			if !errors.Is(err, ErrBadBounds) {
				t.Fatal(err)
			}
			return
		}
		key := mustKey(o, tr)
		got := kr.Range.Contains(key)
		if got {
			_, keyTerms, err := SplitKey(key)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = kr.Accept(keyTerms, AppendValue(nil, Stamp{}, tr)); err != nil {
				t.Fatal(err)
			}
		}
		if want := boundsMatch(bounds, tr); got != want {
			t.Fatalf("%s in %+v: %v, want %v", tr, bounds, got, want)
		}
	})
}
