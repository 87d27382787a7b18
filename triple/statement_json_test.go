// Tests of lines of JSON, and of annotations as RDF.

package triple

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestParseAnnotatedJSON(t *testing.T) {
	tr := Triple{Subject: NewIRI("a:a"), Predicate: NewIRI("a:b"), Object: NewLang("c}", "de")}
	named := tr
	named.Graph = NewBlank("g")
	const spo = `"s":"<a:a>","p":{"type":"uri","value":"a:b"},"o":{"type":"literal","value":"c}","xml:lang":"de"}`
	for line, want := range map[string]struct {
		t   Triple
		all []ApplicationData
	}{
		`{` + spo + `}`: {tr, nil},
		" { " + strings.ReplaceAll(spo, `":`, "\" :\t") + ` , "g" : "_:g" } ` + "\r\n": {named, nil},
		`{` + spo + `,"annotations":[]}`:                                               {tr, []ApplicationData{}},
		`{"annotations":[{"app":"x","data":"AQ==","version":"1.2"},{"app64":"/w==","type":"text/plain","text":"\ud83d\ude42"}],` + spo + `}`: {
			tr, []ApplicationData{{ApplicationID: "x", Data: []byte{1}}, {ApplicationID: "\xff", Data: []byte(mediaMark + "\x0atext/plain🙂")}}},
	} {
		got, all, err := ParseAnnotatedJSON([]byte(line))
		if err != nil || got != want.t || !reflect.DeepEqual(all, want.all) {
			t.Errorf("%s: %v, %+v, %v", line, got, all, err)
		}
	}
	for line, want := range map[string]struct {
		words string
		at    int
	}{
		``:                              {"unexpected end", 0},
		`{`:                             {"unexpected end", 0},
		`[]`:                            {"expected a JSON object", 0},
		` 1`:                            {"expected a JSON object", 1},
		`{} {}`:                         {"after top-level", 3},
		`{"s":1}`:                       {"s: ", 5},
		`{"s":"<a:a>","s":"<a:a>"}`:     {"twice", 17},
		`{` + spo + `,"x":[{"}":1}]}`:   {`unknown member "x"`, len(spo) + 6},
		`{"s":"<a:a>","o":"1"}`:         {"p is missing", 0},
		`{"s":"1","p":"<a:b>","o":"1"}`: {"subject", 0},
		`{"s":{"type":"uri","value":"no"},"p":"<a:b>","o":"1"}`: {"s: ", 5},
		"{\"s\":\"\xff\"}":               {"0xFF", 6},
		`{"s":"\\\ud83d"}`:               {"surrogate", 8},
		`{"s":"\ud83d\u0041"}`:           {"surrogate", 6},
		`{"s":"\udc00"}`:                 {"surrogate", 6},
		`{` + spo + `,"annotations":{}}`: {"wrong kind", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"x","data":"","nonsense":1}]}`:                                     {"nonsense", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"x","data":""},{"app":"x","data":""}]}`:                            {"[1]: two annotations", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"x"}]}`:                                                            {"text and data", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"x","text":"","type":"text"}]}`:                                    {"media type", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"` + strings.Repeat("x", 256) + `","text":""}]}`:                   {"256 bytes", len(spo) + 16},
		`{` + spo + `,"annotations":[{"app":"x","text":"` + strings.Repeat("x", MaxAnnotationBytes+1) + `"}]}`: {"1048837 bytes", len(spo) + 16},
	} {
		_, _, err := ParseAnnotatedJSON([]byte(line))
		var place *LineError
		if !errors.As(err, &place) || place.Offset != want.at || !strings.Contains(err.Error(), want.words) {
			t.Errorf("%.100s: %+v; want ...%s... at %d", line, err, want.words, want.at)
		}
	}
}

// randomAnnotated returns a triple with annotations of many kinds.
func randomAnnotated(r *rand.Rand) (t Triple, all []ApplicationData) {
	t = Triple{Subject: NewBlank("b"), Predicate: NewIRI("x:p"), Object: NewTyped("\x01\u2028\"\\"+strconv.Itoa(r.IntN(9)), XSD+"token")}
	if r.IntN(2) == 0 {
		t.Graph = NewIRI("x:g")
	}
	for i := range r.IntN(4) {
		content := make([]byte, r.IntN(40))
		for j := range content {
			content[j] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				content[j] &= 0x7F
			}
		}
		media := []string{"", "text/plain", "text/html; charset=utf-8", "application/ld+json", "image/png"}[r.IntN(5)]
		if r.IntN(2) == 0 {
			content = []byte("grün\x00\r\n\ufffd🙂")
		}
		data, _ := AppendMedia([]byte{}, media, content)
		all = append(all, ApplicationData{ApplicationID: string(rune('a'+i)) + []string{"", "é %", "\xff\x00"}[r.IntN(3)], Data: data})
	}
	return t, all
}

// TestAnnotationForms writes random annotations as JSON and as RDF, and reads them back.
func TestAnnotationForms(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("TREFOIL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		tr, all := randomAnnotated(r)
		got, back, err := ParseAnnotatedJSON(AppendNDJSON(nil, tr, all))
		if err != nil || got != tr || len(back) != len(all) || len(all) > 0 && !reflect.DeepEqual(back, all) {
			t.Fatalf("%v %+v: got %v, %+v, %v", tr, all, got, back, err)
		}
		for i := range all {
			got, a, err := ParseAnnotationTriples(AppendAnnotationTriples(nil, NewBlank("n"), tr, &all[i], true))
			if err != nil || got != tr || !reflect.DeepEqual(a, all[i]) {
				t.Fatalf("%v %+v: got %v, %+v, %v", tr, all[i], got, a, err)
			}
		}
	}
}

// TestDeepNDJSON checks that a triple term comes back however deep it is, if the limit is raised.
func TestDeepNDJSON(t *testing.T) {
	raiseNesting(t, 100_000)
	s, p := NewBlank("b"), NewIRI("x:p")
	for _, depth := range []int{1, maxJSONNesting, maxJSONNesting + 1, 100_000} {
		var b TripleTermBuilder
		for range depth {
			b.Add(s, p)
		}
		want := Triple{Subject: s, Predicate: p, Object: b.Term(NewLang("\x00\"\n", "ar--rtl")), Graph: p}
		line := AppendNDJSON(nil, want, nil)
		if isText := bytes.Contains(line, []byte(`"o":"<<(`)); isText != (depth > maxJSONNesting) {
			t.Errorf("%d levels: %.100s", depth, line)
		}
		if got, _, err := ParseAnnotatedJSON(line); err != nil || got != want {
			t.Errorf("%d levels come back as %.100s, %v", depth, got, err)
		}
	}
}

// TestAppendNDJSON checks that long annotations of one triple become several lines.
func TestAppendNDJSON(t *testing.T) {
	tr := Triple{Subject: NewIRI("a:a"), Predicate: NewIRI("a:b"), Object: NewString("c")}
	var all []ApplicationData
	for i := range 20 {
		all = append(all, ApplicationData{ApplicationID: strconv.Itoa(i), Data: bytes.Repeat([]byte{byte(i)}, MaxAnnotationBytes)})
	}
	var back []ApplicationData
	lines := bytes.SplitAfter(AppendNDJSON(nil, tr, all), []byte{'\n'})
	for _, line := range lines[:len(lines)-1] {
		if len(line) > 8<<20 {
			t.Errorf("a line of %d bytes", len(line))
		}
		got, some, err := ParseAnnotatedJSON(line)
		if err != nil || got != tr {
			t.Fatal(got, err)
		}
		back = append(back, some...)
	}
	if !reflect.DeepEqual(back, all) {
		t.Error("other annotations came back")
	}
}

func TestParseAnnotationTriples(t *testing.T) {
	about := Triple{Subject: NewIRI("a:a"), Predicate: NewIRI("a:b"), Object: NewString("c")}
	good := AppendAnnotationTriples(nil, NewBlank("n"), about, &ApplicationData{ApplicationID: "x", Data: []byte("d")}, true)
	with := func(name string, o Term) []Triple {
		return append(good[:len(good):len(good)], Triple{Subject: NewBlank("n"), Predicate: AnnotationProperty(name), Object: o})
	}
	without := func(name string) (some []Triple) {
		for _, t := range good {
			if t.Predicate != AnnotationProperty(name) {
				some = append(some, t)
			}
		}
		return some
	}
	if _, _, err := ParseAnnotationTriples(with("version", NewString("1.2"))); err != nil {
		t.Error(err)
	}
	other := with("bytes", NewString("1"))
	other[len(other)-1].Subject = NewBlank("m")
	for name, c := range map[string]struct {
		all   []Triple
		words string
	}{
		"unknown":       {with("nonsense", NewString("")), "no property"},
		"two values":    {with("value", NewString("")), "two values"},
		"two nodes":     {other, "one statement"},
		"none":          {nil, "no <urn:trefoil:annotations#subject>"},
		"no value":      {without("value"), "no <urn:trefoil:annotations#value>"},
		"literal graph": {with("graph", NewString("g")), "graph"},
		"number":        {append(without("value"), with("value", NewTyped("1", XSDInteger))[len(good)]), "value: expected"},
		"bad base64":    {append(without("value"), with("value", NewTyped("AQ", xsdBase64Binary))[len(good)]), "base64"},
		"bad type":      {append(without("type"), with("type", NewString("text"))[len(good)]), "media type"},
		"no id":         {append(without("application"), with("application", NewString(""))[len(good)]), "0 bytes"},
	} {
		if _, _, err := ParseAnnotationTriples(c.all); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want ...%s...", name, err, c.words)
		}
	}
}
