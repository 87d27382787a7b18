// Tests of annotations in TriG and NDJSON.

package syntax

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/triple"
)

// annotated is a triple with its annotations.
type annotated struct {
	t           triple.Triple
	annotations []triple.ApplicationData
}

func parseAnnotated(r io.Reader, s Syntax, opts Options) (all []annotated, errs []error) {
	var waiting []triple.ApplicationData
	opts.Annotated = func(a []triple.ApplicationData) { waiting = a }
	for t, err := range Parse(context.Background(), r, s, opts) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, annotated{t, waiting})
		waiting = nil
	}
	return all, errs
}

// TestAnnotatedRoundTrip writes random triples with annotations as TriG and as NDJSON, and reads them
// back, through a reader that returns half of what is requested.
func TestAnnotatedRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("TREFOIL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 300 {
		// 1. Consecutive triples may share the subject, the predicate or the graph.
		var want []annotated
		for i := range r.IntN(8) {
			a := annotated{t: triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", r.IntN(2))), Predicate: triple.NewIRI(fmt.Sprint("x:p", r.IntN(2))), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)}}
			if r.IntN(3) == 0 {
				a.t.Subject = triple.NewBlank("b")
			}
			if r.IntN(3) == 0 {
				a.t.Object = triple.NewTripleTerm(triple.NewBlank("b"), triple.NewIRI("x:p"), triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), a.t.Object))
			}
			if r.IntN(2) == 0 {
				a.t.Graph = triple.NewIRI(fmt.Sprint("x:g", r.IntN(2)))
			}
			for j := range r.IntN(3) {
				media := []string{"", "text/plain", "image/png"}[r.IntN(3)]
				content := []string{"", "grün \"\\\n\x00 } .", "\xff\xfe", strings.Repeat("long ", 30_000)}[r.IntN(4)]
				data, err := triple.AppendMedia([]byte{}, media, []byte(content))
				if err != nil {
					t.Fatal(err)
				}
				a.annotations = append(a.annotations, triple.ApplicationData{ApplicationID: fmt.Sprint("é\xff"[:2+r.IntN(2)], j), Data: data})
			}
			want = append(want, a)
		}
		// 2. Both syntaxes hold all of it.
		var trig bytes.Buffer
		w, err := NewTriGWriter(&trig, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := []byte{}
		for _, a := range want {
			if err := w.WriteAnnotated(a.t, a.annotations); err != nil {
				t.Fatal(err)
			}
			lines = triple.AppendNDJSON(lines, a.t, a.annotations)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for s, text := range map[Syntax][]byte{TriG: trig.Bytes(), NDJSON: lines} {
			if got, errs := parseAnnotated(iotest.HalfReader(bytes.NewReader(text)), s, Options{}); len(errs) > 0 || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: %v\n%.2000s\ngot  %.2000v\nwant %.2000v", s, errs, text, got, want)
			}
		}
		// 3. Other programs read the TriG as triples.
		plain := bytes.TrimPrefix(trig.Bytes(), []byte("#"))
		if got, errs := parseAll("# "+string(plain), TriG, Options{}); len(errs) > 0 || len(got) < len(want) {
			t.Fatalf("as plain TriG: %d triples, %v", len(got), errs)
		}
	}
}

// TestAnnotatedLongTerms reads back what is written of the longest terms with annotations.
func TestAnnotatedLongTerms(t *testing.T) {
	data, err := triple.AppendMedia([]byte{}, "text/plain", bytes.Repeat([]byte("x"), triple.MaxAnnotationContent))
	if err != nil {
		t.Fatal(err)
	}
	short, long := triple.NewIRI("x:short"), strings.Repeat("a", triple.MaxTermBytes)
	for _, about := range []triple.Triple{
		{Subject: short, Predicate: short, Object: triple.NewString(long)},
		{Subject: triple.NewIRI("x:" + long[2:]), Predicate: short, Object: triple.NewIRI("y:" + long[2:]), Graph: short},
	} {
		want := []annotated{{about, []triple.ApplicationData{{ApplicationID: "first", Data: data}, {ApplicationID: "second", Data: []byte("\xff")}}}}
		var trig bytes.Buffer
		w, err := NewTriGWriter(&trig, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteAnnotated(about, want[0].annotations); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for s, text := range map[Syntax][]byte{TriG: trig.Bytes(), NDJSON: triple.AppendNDJSON(nil, about, want[0].annotations)} {
			if got, errs := parseAnnotated(bytes.NewReader(text), s, Options{}); len(errs) > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %d triples, %.200v", s, len(got), errs)
			}
		}
	}
}

// TestAnnotatedErrors checks the places of errors, and what is read beside them.
func TestAnnotatedErrors(t *testing.T) {
	const header = triple.AnnotationsHeader + "\n@prefix a: <urn:trefoil:annotations#> .\n<x:s> <x:p> 1 .\n<urn:trefoil:annotations> {\n"
	const good = "[] a:subject <x:s> ; a:predicate <x:p> ; a:object 1 ; a:application \"x\" ; a:value \"v\" .\n"
	for _, c := range []struct {
		name   string
		s      Syntax
		text   string
		errors []string
		read   int // triples
		with   int // of them with annotations
	}{
		{"trig", TriG, header + good + "}\n<x:s> <x:p> 2 .", nil, 2, 1},
		{"trig: unknown property", TriG, header + "  [] a:nonsense 1 .\n" + good + "}\n<x:s> <x:p> 2 .", []string{"f:5:3: annotation: <urn:trefoil:annotations#nonsense> is no property"}, 3, 1},
		{"trig: syntax", TriG, header + "[] a:subject ; .\n" + good + "}\n<x:s> <x:p> 2 .", []string{"f:5:14: "}, 3, 1},
		{"trig: not whole", TriG, header + good + "[] a:subject <x:s> }\n<x:s> <x:p> 2 .", []string{"f:6:1: annotation: the annotation has no"}, 2, 1},
		{"trig: long", TriG, header + "[]" + strings.Repeat(" a:value \""+strings.Repeat("a", 15<<20)+"\" ;", 5) + " .\n" + good + "}", []string{"the annotation has more than"}, 2, 1},
		{"trig: another triple", TriG, header + strings.ReplaceAll(good, "1", "2") + "}", nil, 2, 1},
		{"trig: no header", TriG, "#\n" + header + good + "}", nil, 6, 0},
		{"ndjson", NDJSON, "\xEF\xBB\xBF{\"s\":\"<x:s>\",\"p\":\"<x:p>\",\"o\":\"1\",\"annotations\":[{\"app\":\"x\",\"text\":\"ü\",\"type\":\"text/plain\"}]}\r\n\n{\"s\":\"<x:s>\",\"p\":\"<x:p>\",\"o\":\"\\\"ü\\\"\"}", nil, 2, 1},
		{"ndjson: term", NDJSON, "\n{\"s\":\"<x:ü>\",\"p\":\"<x:p>\",\"o\":1}\n{\"s\":\"<x:s>\",\"p\":\"<x:p>\",\"o\":\"1\"}", []string{"f:2:30: o: malformed term: the term is neither"}, 1, 0},
		{"ndjson: not JSON", NDJSON, "{\"s\":\"<x:ü>\",]}\n[]\n{", []string{"f:1:14: ", "f:2:1: expected a JSON object", "f:3:"}, 0, 0},
		{"ndjson: long", NDJSON, "{\"s\":\"" + strings.Repeat("a", 2<<20) + "\"}\n{\"s\":\"<x:s>\",\"p\":\"<x:p>\",\"o\":\"1\"}", []string{"f:1:1: a line of more than 1048576 bytes"}, 1, 0},
	} {
		opts := Options{Source: "f", KeepGoing: true}
		if c.s == NDJSON {
			opts.MaxLine = 1 << 20
		}
		all, errs := parseAnnotated(strings.NewReader(c.text), c.s, opts)
		with := 0
		for _, a := range all {
			if len(a.annotations) > 0 {
				with++
			}
		}
		if len(all) != c.read || with != c.with || len(errs) != len(c.errors) {
			t.Errorf("%s: %d triples, %d with annotations, %v", c.name, len(all), with, errs)
			continue
		}
		for i, err := range errs {
			var reject *Reject
			if !errors.As(err, &reject) || !strings.Contains(err.Error(), c.errors[i]) {
				t.Errorf("%s: %v, want %s", c.name, err, c.errors[i])
			}
		}
		// Without KeepGoing the first error ends the document.
		opts.KeepGoing = false
		if _, strict := parseAnnotated(strings.NewReader(c.text), c.s, opts); len(errs) > 0 && (len(strict) != 1 || strict[0].Error() != errs[0].Error()) {
			t.Errorf("%s, strict: %v", c.name, strict)
		}
	}
	// A triple of the graph of annotations cannot be written beside them.
	w, err := NewTriGWriter(io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteAnnotated(triple.Triple{Graph: triple.NewIRI(triple.AnnotationsGraph)}, nil); err == nil {
		t.Error("a triple of the graph of annotations is written")
	}
}

func FuzzAnnotated(f *testing.F) {
	f.Add([]byte(`{"s":"<x:s>","p":"<x:p>","o":"1","annotations":[{"app":"x","text":"v","type":"text/plain"}]}`), true)
	f.Add([]byte(triple.AnnotationsHeader+"\n<urn:trefoil:annotations> { [] <urn:trefoil:annotations#subject> <x:s> ; <urn:trefoil:annotations#predicate> <x:p> ; <urn:trefoil:annotations#object> 1 ; <urn:trefoil:annotations#application> \"x\" ; <urn:trefoil:annotations#value> \"v\" }"), false)
	f.Add([]byte(`{"s":"_:b","p":"<x:p>","o":{"type":"triple","value":{"subject":{"type":"bnode","value":"b"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"literal","value":"x","xml:lang":"ar","its:dir":"rtl"}}}}`), true)
	f.Add([]byte(triple.AnnotationsHeader+"\n<urn:trefoil:annotations> { [] <urn:trefoil:annotations#subject> <x:s> ; <urn:trefoil:annotations#predicate> <x:p> ; <urn:trefoil:annotations#object> <<( _:b <x:p> <<( <x:s> <x:p> 'x'@ar--rtl )>> )>> ; <urn:trefoil:annotations#application> \"x\" ; <urn:trefoil:annotations#value> \"v\" {| <x:p> 1 |} }"), false)
	f.Fuzz(func(t *testing.T, text []byte, ndjson bool) {
		s := TriG
		if ndjson {
			s = NDJSON
		}
		// What is read can be written, and is read back as it was.
		all, _ := parseAnnotated(bytes.NewReader(text), s, Options{KeepGoing: true, MaxLine: 1 << 20})
		var lines []byte
		for _, a := range all {
			lines = triple.AppendNDJSON(lines, a.t, a.annotations)
		}
		back, errs := parseAnnotated(bytes.NewReader(lines), NDJSON, Options{})
		if len(errs) > 0 || len(back) != len(all) {
			t.Fatalf("%q: %d of %d, %v", lines, len(back), len(all), errs)
		}
		for i := range back {
			if back[i].t != all[i].t || len(back[i].annotations) != len(all[i].annotations) {
				t.Fatalf("%q: got %v, want %v", lines, back[i], all[i])
			}
		}
	})
}
