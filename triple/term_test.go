// Tests of terms.

package triple

import (
	"errors"
	"strings"
	"testing"
)

func TestTermCheck(t *testing.T) {
	for _, term := range []Term{
		NewIRI("http://ex/a"), NewBlank("b"), NewString(""), NewString("\x00\n"), NewLang("a", "en-GB"), NewTyped("x", XSDInteger), NewTyped("x", ""), NewTyped("", "a:b"),
	} {
		if err := term.Check(); err != nil {
			t.Errorf("%s: %v", term, err)
		}
	}
	tests := []struct {
		term Term
		want string
	}{
		{Term{}, "no term"},
		{NewIRI("a"), "relative IRI"},
		{NewIRI("a:b c"), "character ' '"},
		{NewBlank(""), "blank node label"},
		{NewBlank("a b"), "blank node label"},
		{NewBlank("a."), "blank node label"},
		{NewString("\xFF"), "not valid UTF-8"},
		{NewLang("a", "en_GB"), `language tag "en_gb"`},
		{NewLang("a", ""), "without a language tag"},
		{NewTyped("a", RDFLangString), "without a language tag"},
		{NewTyped("a", "b"), "datatype: relative IRI"},
		{Term{kind: Literal, value: "a", datatype: "a:b", lang: "en"}, "a language tag and datatype <a:b>"},
	}
	for _, test := range tests {
		if err := test.term.Check(); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%#v: %v, want %q", test.term, err, test.want)
		}
	}
}

func TestTripleCheck(t *testing.T) {
	s, p, o, g := NewBlank("s"), NewIRI("a:p"), NewString("o"), NewIRI("a:g")
	for _, tr := range []Triple{{s, p, o, Term{}}, {s, p, o, g}, {p, p, s, s}} {
		if err := tr.Check(); err != nil {
			t.Errorf("%s: %v", tr, err)
		}
		if tr.Clone() != tr {
			t.Errorf("%s: Clone", tr)
		}
	}
	bad := NewIRI("b")
	for want, tr := range map[string]Triple{
		"the subject is a literal":     {o, p, o, g},
		"the subject is a none":        {Term{}, p, o, g},
		"the predicate is a blank":     {s, s, o, g},
		"the graph name is a literal":  {s, p, o, o},
		"subject: malformed term: rel": {bad, p, o, g},
		"predicate: malformed":         {s, bad, o, g},
		"object: malformed":            {s, p, bad, g},
		"object: malformed term: no":   {s, p, Term{}, g},
		"graph: malformed":             {s, p, o, bad},
	} {
		if err := tr.Check(); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tr, err, want)
		}
	}
}

// TestScannedTermsAreClonable: a clone must stay valid when the scanner reads on.
func TestScannedTermsAreClonable(t *testing.T) {
	sc := NewScanner(strings.NewReader("<a:s> <a:p> \"\\u00e9\"@en .\n<a:x> <a:y> \"\\u00e8\"@fr .\n"), ScanOptions{BlockBytes: 1})
	sc.Scan()
	want := sc.Triple().String()
	clone := sc.Triple().Clone()
	for sc.Scan() {
	}
	if clone.String() != want {
		t.Errorf("%s, was %s", clone, want)
	}
}

func TestStampLess(t *testing.T) {
	ascending := []Stamp{{0, 0}, {0, 1}, {1, 0}, {1, 5}, {2, 0}}
	for i, a := range ascending {
		for j, b := range ascending {
			if a.Less(b) != (i < j) {
				t.Errorf("%v < %v: %v", a, b, a.Less(b))
			}
		}
	}
}

// TestCorrupt: bytes must be rejected if they are no key, value or term, and a value if it does not
// belong to its key.
func TestCorrupt(t *testing.T) {
	tr := Triple{NewIRI("a:s"), NewIRI("a:p"), NewString(strings.Repeat("x", 1025)), Term{}}
	other := tr
	other.Object = NewString("y" + strings.Repeat("x", 1025))
	twin := tr
	twin.Object = NewString(strings.Repeat("x", 1026))
	key, value := mustKey(SPO, tr), AppendValue(nil, Stamp{1, 2}, tr)
	if err := CheckKey(key, value); err != nil {
		t.Fatal(err)
	}
	short := Triple{NewIRI("a:s"), NewIRI("a:p"), NewTyped("1", XSDInteger), Term{}}
	shortKey, shortValue := mustKey(SPO, short), AppendValue(nil, Stamp{1, 2}, short)
	wrongNumber := []byte(strings.Replace(string(shortKey), "\x30\xbf\xf0", "\x30\xbf\xf1", 1))
	pairs := map[string][2][]byte{
		"empty key":                        {nil, value},
		"no value":                         {key, nil},
		"order 0":                          {append([]byte{0}, key[1:]...), value},
		"order 5":                          {append([]byte{5}, key[1:]...), value},
		"two terms":                        {[]byte("\x01\x20a:s\x00\x01\x20a:p"), shortValue},
		"five terms":                       {[]byte("\x04\x20a\x00\x01\x20a\x00\x01\x20a\x00\x01\x20a\x00\x01\x20a"), shortValue},
		"empty term":                       {[]byte("\x01\x20a:s\x00\x01\x00\x01\x20a:p"), shortValue},
		"long term missing":                {key, shortValue},
		"another long term":                {key, AppendValue(nil, Stamp{1, 2}, other)},
		"a long term of another hash":      {key, AppendValue(nil, Stamp{1, 2}, twin)},
		"a long term that is not":          {shortKey, AppendValue(nil, Stamp{1, 2}, tr)},
		"value cut":                        {key, value[:len(value)-1]},
		"value too long":                   {shortKey, append(append([]byte{}, shortValue...), 0)},
		"unknown flag":                     {shortKey, append([]byte{4}, shortValue[1:]...)},
		"annotation's value":               {shortKey, AppendAnnotation(nil, Stamp{1, 2}, nil)},
		"annotation's key":                 {AppendAnnotationKey(nil, shortKey, "app"), shortValue},
		"escape at the end":                {append(append([]byte{}, shortKey...), 0), shortValue},
		"another number than its lexical":  {wrongNumber, shortValue},
		"a literal as subject":             {mustKey(SPO, Triple{NewString("s"), NewIRI("a:p"), NewString("o"), Term{}}), shortValue},
		"a relative IRI":                   {mustKey(SPO, Triple{NewIRI("s"), NewIRI("a:p"), NewString("o"), Term{}}), shortValue},
		"an other literal that is a class": {[]byte("\x01\x20a:s\x00\x01\x20a:p\x00\x01\x37" + XSDInteger + "\x00\x031"), shortValue},
	}
	for name, pair := range pairs {
		if err := CheckKey(pair[0], pair[1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, term := range map[string]string{
		"empty": "", "unknown tag": "\x40a", "two fields": "\x20a\x00\x03b", "bad escape": "\x20a\x00\x05", "one field": "\x37a", "three fields": "\x37a\x00\x03b\x00\x03c",
		"no tag": "\x36a\x00\x03", "tag without its form": "\x36a\x00\x03en", "tag of another form": "\x36a\x00\x03en\x00\x03de", "a tag more": "\x36a\x00\x03en\x00\x03en\x00\x03",
		"upper case": "\x36a\x00\x03EN\x00\x03EN", "empty tag": "\x36a\x00\x03\x00\x03",
		"boolean 3": "\x31\x03true", "boolean without a form": "\x31\x01", "number cut": "\x30\xbf\xf0", "code 0": "\x30\xbf\xf0\x01\x01\x01\x01\x01\x01\x00\xff\x00\xff1", "code 17": "\x30\xbf\xf0\x01\x01\x01\x01\x01\x01\x00\xff\x111",
		"no lexical form": "\x30\xbf\xf0\x01\x01\x01\x01\x01\x01\x00\xff\x06", "decimal without end": "\x30\xbf\xf0\x01\x01\x01\x01\x01\x01\x01\x80\x01\x01\x01\x05\x05", "flag 2": "\x30\xbf\xf0\x01\x01\x01\x01\x01\x01\x02\x061",
		"instant cut": "\x32\x80\x01", "instant without end": "\x32\x80\x01\x01\x01\x01\x01\x01\x01\x01", "00 in a lexical form": "\x31\x01a\x00\xff",
	} {
		if got, err := DecodeTerm([]byte(term)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]string{
		"none": None.String(), "blank node": Blank.String(), "IRI": IRI.String(), "literal": Literal.String(), "kind 9": Kind(9).String(),
		"gspo": GSPO.String(), "order 9": Order(9).String(),
		"a.nt:3:4: bad": (&SyntaxError{Source: "a.nt", Line: 3, Column: 4, Msg: "bad"}).Error(), "3:4: bad": (&SyntaxError{Line: 3, Column: 4, Msg: "bad"}).Error(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := strings.Repeat("é", 100)
	if got := clip("x" + long); len(got) > 84 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%q", got)
	}
	if got := clip(strings.Repeat("\x80", 100)); len(got) != 83 {
		t.Errorf("%q", got)
	}
}
