// Annotations in text, and bounds that keep them beside the rows of their triples.

package triple

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// genAnnotations generates annotations of one triple: of several applications, ids
// of any bytes, data that is empty, small or large.
func genAnnotations() *rapid.Generator[[]ApplicationData] {
	one := rapid.Custom(func(t *rapid.T) ApplicationData {
		id := rapid.SliceOfN(rapid.Byte(), 1, MaxApplicationID).Draw(t, "id")
		data := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data")
		if rapid.IntRange(0, 20).Draw(t, "long") == 0 {
			data = bytes.Repeat(data, 100)
		}
		return ApplicationData{ApplicationID: string(id), Data: data}
	})
	return rapid.SliceOfNDistinct(one, 0, 8, func(a ApplicationData) string { return a.ApplicationID })
}

// TestAnnotatedRoundTrip writes triples with annotations and reads them again, in blocks of all
// sizes. If the header is missing, the same text must have only the triples.
func TestAnnotatedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		triples := rapid.SliceOfN(genTriple(true), 1, 6).Draw(t, "triples")
		text := []byte(AnnotationsHeader + "\n")
		annotations := make([][]ApplicationData, len(triples))
		for i, x := range triples {
			annotations[i] = genAnnotations().Draw(t, "annotations")
			text = AppendAnnotated(text, AppendNQuad(nil, x), annotations[i])
		}
		opts := ScanOptions{Quads: true, BlockBytes: rapid.SampledFrom([]int{1, 64, 1 << 10, 0}).Draw(t, "block")}
		read := func(text []byte) (got []Triple, notes [][]ApplicationData) {
			sc := NewScanner(iotest.HalfReader(bytes.NewReader(text)), opts)
			for sc.Scan() {
				got, notes = append(got, sc.Triple().Clone()), append(notes, sc.Annotations())
			}
			if err := sc.Err(); err != nil {
				t.Fatal(err)
			}
			return got, notes
		}
		got, notes := read(text)
		if !reflect.DeepEqual(got, triples) {
			t.Fatalf("got %v, want %v", got, triples)
		}
		for i := range notes {
			if len(notes[i])+len(annotations[i]) > 0 && !reflect.DeepEqual(notes[i], annotations[i]) {
				t.Fatalf("triple %d has %v, want %v", i, notes[i], annotations[i])
			}
		}
		got, notes = read(text[len(AnnotationsHeader)+1:])
		for i := range notes {
			if notes[i] != nil {
				t.Fatalf("without a header triple %d has %v", i, notes[i])
			}
		}
		if !reflect.DeepEqual(got, triples) {
			t.Fatalf("without a header got %v, want %v", got, triples)
		}
	})
}

// TestLongAnnotations: if annotations do not fit on a line, they must continue on another.
func TestLongAnnotations(t *testing.T) {
	var all []ApplicationData
	for i := range 9 {
		all = append(all, ApplicationData{ApplicationID: strings.Repeat("a", i+1), Data: bytes.Repeat([]byte{byte(i)}, MaxAnnotationBytes)})
	}
	statement := []byte("<a:a> <a:b> <a:c> .\n")
	text := AppendAnnotated([]byte(AnnotationsHeader+"\n"), statement, all)
	for line := range bytes.Lines(text) {
		if len(line) > maxAnnotationsLine+2*MaxAnnotationBytes {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	sc := NewScanner(bytes.NewReader(text), ScanOptions{Quads: true})
	var got []ApplicationData
	lines := 0
	for sc.Scan() {
		got = append(got, sc.Annotations()...)
		lines++
	}
	if sc.Err() != nil || lines < 2 || !reflect.DeepEqual(got, all) {
		t.Errorf("%d lines with %d annotations, %v", lines, len(got), sc.Err())
	}
}

// TestAnnotationsSyntax: an error must have its place, and its statement must be rejected. The
// statements after it must be read.
func TestAnnotationsSyntax(t *testing.T) {
	const statement = "<a:a> <a:b> <a:c> . "
	tooLong := strings.Repeat("a", MaxApplicationID+1)
	for _, test := range []struct {
		name, line string
		column     int // 0: it is right
		msg        string
		annotation string // the first one's id
	}{
		{name: "one", line: statement + "#@ x=AQID", annotation: "x"},
		{name: "no data", line: statement + "#@ x=", annotation: "x"},
		{name: "spaces", line: statement + "#@ \t x=AQID \t y= ", annotation: "x"},
		{name: "id in percent", line: statement + "#@ a%20%3d=AQID", annotation: "a ="},
		{name: "another comment", line: statement + "# @ x"},
		{name: "none", line: statement + "#@", column: 23, msg: "expected an annotation"},
		{name: "no space", line: statement + "#@x=", column: 23, msg: "expected a space"},
		{name: "no equals sign", line: statement + "#@ x", column: 24, msg: "expected '='"},
		{name: "no id", line: statement + "#@ =AQID", column: 24, msg: "0 bytes, not 1 to 255"},
		{name: "long id", line: statement + "#@ " + tooLong + "=", column: 24, msg: "256 bytes, not 1 to 255"},
		{name: "bad id", line: statement + "#@ x y:z=", column: 24, msg: "expected '='"},
		{name: "bad byte in an id", line: statement + "#@ x= y:z=", column: 28, msg: "expected a letter"},
		{name: "bad percent", line: statement + "#@ a%2=", column: 25, msg: "expected a letter"},
		{name: "not base64", line: statement + "#@ x=A?ID", column: 27, msg: "base64"},
		{name: "no padding", line: statement + "#@ x=AQ", column: 26, msg: "base64"},
		{name: "bits behind the end", line: statement + "#@ x=AR==", column: 28, msg: "base64"},
		{name: "twice", line: statement + "#@ x=AQID y= x=", column: 34, msg: "two annotations of one application"},
		{name: "too much", line: statement + "#@ x=" + strings.Repeat("AAAA", MaxAnnotationBytes/3+2), column: 26, msg: "bytes of data"},
		{name: "another version", line: "#@trefoil-annotations 2", column: 1, msg: "another version"},
		{name: "the header again", line: AnnotationsHeader},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc := AnnotationsHeader + "\n<a:x> <a:b> <a:c> .\n" + test.line + "\n<a:y> <a:b> <a:c> .\n"
			sc := NewScanner(strings.NewReader(doc), ScanOptions{Source: "d.nq", Quads: true})
			triples := 0
			var first string
			scan := func() {
				for sc.Scan() {
					triples++
					if a := sc.Annotations(); len(a) > 0 {
						first = a[0].ApplicationID
					}
				}
			}
			scan()
			if test.column > 0 {
				syntax, _ := sc.Err().(*SyntaxError)
				if syntax == nil || syntax.Line != 3 || syntax.Column != test.column || !strings.Contains(syntax.Msg, test.msg) {
					t.Fatalf("error %v, want line 3 column %d %q", sc.Err(), test.column, test.msg)
				}
				sc.Recover()
				scan()
			}
			if sc.Err() != nil || first != test.annotation {
				t.Errorf("annotation of %q, want %q, error %v", first, test.annotation, sc.Err())
			}
			want := 3
			if test.column > 0 || strings.HasPrefix(test.line, "#@t") {
				want = 2
			}
			if triples != want {
				t.Errorf("%d triples, want %d", triples, want)
			}
		})
	}
}

// TestManyAnnotations checks that the time to parse a line grows with its length, not with its square:
// this one would take hours.
func TestManyAnnotations(t *testing.T) {
	const n = 1 << 20
	var doc bytes.Buffer
	fmt.Fprintf(&doc, "%s\n<a:a> <a:b> <a:c> . #@", AnnotationsHeader)
	for i := range n {
		fmt.Fprintf(&doc, " %x=", i)
	}
	sc := NewScanner(&doc, ScanOptions{})
	if !sc.Scan() || len(sc.Annotations()) != n {
		t.Errorf("%d annotations, want %d, error %v", len(sc.Annotations()), n, sc.Err())
	}
}

// TestHeaderBelow: a header must be the first line, because annotations would be lost otherwise.
func TestHeaderBelow(t *testing.T) {
	for _, doc := range []string{"\n" + AnnotationsHeader + "\n", "<a:a> <a:b> <a:c> .\r" + AnnotationsHeader} {
		events, err := scanAll(strings.NewReader(doc), ScanOptions{Quads: true})
		if err != nil || len(events) == 0 || !strings.Contains(events[len(events)-1].msg, "first line") {
			t.Errorf("%q: %+v, %v", doc, events, err)
		}
	}
	mark := string(byteOrderMark)
	events, err := scanAll(strings.NewReader(mark+AnnotationsHeader+"\r\n<a:a> <a:b> <a:c> . #@ x\r\n"), ScanOptions{})
	if err != nil || len(events) != 1 || events[0].line != 2 {
		t.Errorf("behind a byte order mark: %+v, %v", events, err)
	}
}

// TestSplitBound: any beginning of a key may be a bound, as separators of keys are. A triple's row
// and its annotations must be on one side of SplitBound's result. The bound must move only over
// rows that stay together.
func TestSplitBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := genTriple(true).Draw(t, "triple")
		twin := x
		twin.Graph = NewIRI("x:g")
		order := rapid.SampledFrom(Orders[:]).Draw(t, "order")
		if order == GSPO {
			x.Graph = NewIRI("x:g")
		}
		version, _ := AppendKey(nil, order, x)
		other, _ := AppendKey(nil, order, twin)
		annotation := AppendAnnotationKey(nil, version, "a")
		// A long last term with this beginning sorts between the triple's row and its annotations.
		longer := append(bytes.Clone(version), 0, markHash)
		longer = append(longer, bytes.Repeat([]byte{7}, 16)...)
		of := rapid.SampledFrom([][]byte{version, other, annotation, longer}).Draw(t, "of")
		at := of[:rapid.IntRange(1, len(of)).Draw(t, "length")]
		bound := SplitBound(at)
		if (bytes.Compare(version, bound) < 0) != (bytes.Compare(annotation, bound) < 0) {
			t.Fatalf("% X, made of % X, separates % X from % X", bound, at, version, annotation)
		}
		first := x // of the rows that stay together
		if order != GSPO {
			first.Graph = Term{}
		}
		least, _ := AppendKey(nil, order, first)
		last := bytes.LastIndex(least, []byte{0, markTermEnd})
		if i := bytes.Index(least[last:], []byte{0, markHash}); i >= 0 {
			least = least[:last+i] // of all whose last term begins like this long one
		}
		if !bytes.HasPrefix(at, bound) || bytes.Compare(bound, least) < 0 && bytes.Compare(least, at) < 0 {
			t.Fatalf("% X becomes % X, and % X lies between", at, bound, least)
		}
	})
}
