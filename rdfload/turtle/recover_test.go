// Tests of parsing after a malformed statement.

package turtle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestKeepGoing: which triples stand, and which text is rejected.
func TestKeepGoing(t *testing.T) {
	const good, more = "<x:s> <x:p> <x:o> .\n", "<x:s> <x:p> <x:more> ."
	ok := []string{"<x:s> <x:p> <x:o>", "<x:s> <x:p> <x:more>"}
	for _, test := range []struct {
		name, doc string
		trig      bool
		want      []string
		rejected  []string
	}{
		{"no predicate", good + "<x:s> . " + more, false, ok, []string{"<x:s> ."}},
		{"no object", good + "<x:s> <x:p> . " + more, false, ok, []string{"<x:s> <x:p> ."}},
		{"whole statement", good + "<x:s> <x:p> 1, 2 ; <x:q> 3, ; . " + more, false, ok, []string{"<x:s> <x:p> 1, 2 ; <x:q> 3, ; ."}},
		{"space in IRI", good + "<x:s> <x:p> <x:a. b> .\n" + more, false, ok, []string{"<x:s> <x:p> <x:a. b> ."}},
		{"open IRI", good + "<x:s> <x:p> <x:a .\n" + more, false, ok, []string{"<x:s> <x:p> <x:a .\n"}},
		{"bad escape", good + `<x:s> <x:p> "a\x. b\". c" . ` + more, false, ok, []string{`<x:s> <x:p> "a\x. b\". c" .`}},
		{"bad escape in a long string", good + `<x:s> <x:p> """a\x. b" . c""" . ` + more, false, ok, []string{`<x:s> <x:p> """a\x. b" . c""" .`}},
		{"line break", good + "<x:s> <x:p> \"a. b\nc. d\" .\n" + more, false, ok, []string{"<x:s> <x:p> \"a. b\nc. d\" .\n"}},
		{"line break and apostrophe", good + "<x:s> <x:p> \"a\nit's\" .\n" + more, false, ok, []string{"<x:s> <x:p> \"a\nit's\" .\n"}},
		{"bad UTF-8", good + "<x:s> <x:p> \"\xff . \" . " + more, false, ok, []string{"<x:s> <x:p> \"\xff . \" ."}},
		{"comment", good + "<x:s> # not here .\n <x:p> . " + more, false, ok, []string{"<x:s> # not here .\n <x:p> ."}},
		{"at the end", good + more + " <x:s>", false, ok, []string{"<x:s>"}},
		{"only junk", "%", false, nil, []string{"%"}},
		{"prefix lost", "@prefix e: <x:> . e:s e:p e:o .\n@prefix e: <x y> . e:s e:p e:lost . " + more, false, ok,
			[]string{"@prefix e: <x y> .", "e:s e:p e:lost ."}},
		{"base lost", "@base <x:> . <s> <p> <o> .\nBASE <\n@base . <s> <p> <lost> . " + more, false,
			[]string{"<x:s> <x:p> <x:o>", "<x:s> <x:p> <x:more>"}, []string{"BASE <\n@base .", "<s> <p> <lost> ."}},
		{"in a block", "<x:g> { " + good + "<x:s> . " + more + " } " + more, true,
			[]string{"<x:s> <x:p> <x:o> <x:g>", "<x:s> <x:p> <x:more> <x:g>", "<x:s> <x:p> <x:more>"}, []string{"<x:s> ."}},
		{"last in a block", "<x:g> { " + good + "<x:s> } " + more, true,
			[]string{"<x:s> <x:p> <x:o> <x:g>", "<x:s> <x:p> <x:more>"}, []string{"<x:s> "}},
		{"whole block", good + "e:g { <x:s> <x:p> <x:a> . <x:s> <x:p> <x:b> } " + more, true, ok,
			[]string{"e:g { <x:s> <x:p> <x:a> . <x:s> <x:p> <x:b> }"}},
		{"block never closed", good + "<x:g> { <x:s> <x:p> <x:a> . <x:h> { <x:s> <x:p> <x:b> } " + more, true,
			[]string{"<x:s> <x:p> <x:o>", "<x:s> <x:p> <x:a> <x:g>", "<x:s> <x:p> <x:more>"}, []string{"<x:h> { <x:s> <x:p> <x:b> }"}},
		{"stray brace", good + "} " + more, true, ok, []string{"}"}},
		{"open at the end", good + more + "<x:g> { ", true, ok, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, errs := parse(strings.NewReader(test.doc), Options{TriG: test.trig, KeepGoing: true})
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			var texts []string
			for _, err := range errs {
				var reject *Reject
				if !errors.As(err, &reject) {
					t.Fatalf("%v is no Reject", err)
				}
				texts = append(texts, reject.Text)
			}
			if !slices.Equal(texts, test.rejected) {
				t.Errorf("rejected %q\nwant     %q\n%v", texts, test.rejected, errs)
			}
		})
	}
}

// TestKeepGoingPlaces: places stay right behind rejected statements.
func TestKeepGoingPlaces(t *testing.T) {
	var doc strings.Builder
	const lines = 20_000 // more than a buffer
	for i := range lines {
		fmt.Fprintf(&doc, "<x:s> <x:p> \"ü\", <o%d> .\r\n", i)
	}
	_, errs := parse(strings.NewReader(doc.String()), Options{KeepGoing: true})
	if len(errs) != lines {
		t.Fatalf("%d errors", len(errs))
	}
	for i, err := range errs {
		if want := fmt.Sprintf("%d:18: ", i+1); !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("error %d is %q, want it to start with %q", i, err, want)
		}
	}
}
