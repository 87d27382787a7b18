// Tests of format detection and of the options.

package linkfile

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name, head string
		want       Format // 0: ErrFormat
	}{
		{"", "", Edges},
		{"", "# only\n#comments", Edges},
		{"", "a:s\ta:o\n", Edges},
		{"", "a:s\ta:o", Edges},
		{"", "#c\n\na:s\ta:o\na:s\ta:o\t3\r\n", Edges},
		{"", "a:s\ta:o\t3\ttext\n", Edges},
		{"", "a:s\ta:o\ta:p\n", 0},
		{"", "a:s\ta:o\na:s\ta:o\ta:p\n", 0},
		{"", "a:s\n", 0},
		{"", "some words\n", 0},
		{"", "#links:pages\na:s\ta:o\n", Pages},
		{"x.edges", "\xEF\xBB\xBF# links: LISTS \r\na:s\ta:o\n", Lists},
		{"", "# links: nothing\na:s\ta:o\n", Edges},
		{"", "#\n# links: pages\na:s\ta:o\n", Edges},
		{"", "1996|a|b\t1\n", Hosts},
		{"", "WARC/1.0\r\n", WAT},
		{"", "<a:s> <a:p> <a:o> .\n", NQuads},
		{"", "_:s <a:p> <a:o> <a:g> .\n", NQuads},
		{"", "<a:s> a <a:o> .\n", 0},
		{"dir.nt/a.pages", "a:s\ta:o\n", Pages},
		{`c:\A.Lists.GZ`, "a:s\ta:o\n", Lists},
		{"a.nt.bz2", "", NTriples},
		{"a.nquads", "", NQuads},
		{"CC-MAIN-0.warc.wat.gz", "", WAT},
		{"a.hosts", "a:s\ta:o\n", Edges},
		{"a.tsv", "a:s\ta:o\n", Edges},
		{"a.tsv", strings.Repeat("a:s\ta:o\n", 10_000), Edges},
		{"", "a:" + strings.Repeat("x", 1<<17) + "\ta:o\n", 0},
	} {
		rd, err := NewReader(strings.NewReader(test.head), Options{Source: test.name})
		switch {
		case err != nil && (!errors.Is(err, ErrFormat) || test.want != 0):
			t.Errorf("%s, %.40q: %v", test.name, test.head, err)
		case err == nil && rd.Format() != test.want:
			t.Errorf("%s, %.40q: %v, want %v", test.name, test.head, rd.Format(), test.want)
		}
	}
	if e := readEvents(t, strings.NewReader("a:s\ta:o\n"), Options{}); len(e.lines) != 1 {
		t.Errorf("what was looked at is not read: %q", e.lines)
	}
	if _, err := NewReader(&failingReader{strings.NewReader("a:s"), io.ErrClosedPipe}, Options{}); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for f := Edges; f <= lastFormat; f++ {
		if got, err := ByName(strings.ToUpper(f.String())); err != nil || got != f || !strings.Contains(Names(), f.String()) {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := ByName("turtle"); err == nil || !strings.Contains(err.Error(), "edges, lists, pages, hosts, nt, nq or wat") {
		t.Error(err)
	}
	if Format(0).String() != "format 0" || Format(9).String() != "format 9" {
		t.Error("formats that are none")
	}
}

func TestValidate(t *testing.T) {
	for _, o := range []Options{{Format: 9}, {MaxLine: -1}, {MaxLine: 1 << 40}, {From: Position{Offset: -1}, Format: Edges}, {From: Position{Offset: 1}},
		{From: Position{Skip: -1}, Format: Edges}, {From: Position{Line: -1}, Format: Edges}, {Predicate: "x"}} {
		if _, err := NewReader(strings.NewReader(""), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for _, o := range []Options{{}, {Predicate: AnyPredicate}, {Predicate: "a:b", From: Position{3, 2, 1}, Format: NTriples}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestBadPositions: if a file does not have a position, the reader returns an error, not the end.
func TestBadPositions(t *testing.T) {
	for f, doc := range map[Format]string{Lists: "a:s\ta:o\n", Pages: "a:s\ta:o\n", NTriples: "<a:s> <urn:trefoil:linksTo> <a:o> .\n"} {
		if _, err := tryEvents(strings.NewReader(doc), Options{Format: f, From: Position{Skip: 5}}); !errors.Is(err, ErrPosition) {
			t.Errorf("%v: %v", f, err)
		}
	}
}

func TestTriples(t *testing.T) {
	const p = " <urn:trefoil:linksTo> "
	doc := "# links\n<a:s>" + p + "<a:o> .\n<a:s>" + p + "<a:p> .\n<a:s> <a:title> \"x\" .\n<a:s>" + p + "<a:q> <a:graph> .\n" +
		"<a:t>" + p + "\"x\" .\n_:b" + p + "<a:o> .\n<a:t>" + p + "_:b .\n<a:t>" + p + "<a b> .\n<a:t> <urn:trefoil:links\\u0054o> <a:\\u00e9> .\nbad\n<a:t>" + p + "<a:p> .\n"
	e := readEvents(t, strings.NewReader(doc), Options{Format: NQuads, Source: "f"})
	compare(t, e.lines, []string{"a:s = a:o a:p a:q", "? 9:31@280 character ' ' is not allowed in an IRI | <a:t>" + p + "<a b> .", "a:t = a:é", "? 11:1@332 expected a term... | bad", "a:t = a:p"})
	if e.counts != (Counts{Links: 5, Skipped: 4, Rejected: 2}) {
		t.Errorf("%+v", e.counts)
	}
	if e := readEvents(t, strings.NewReader(doc), Options{Format: NTriples}); e.counts.Rejected != 3 {
		t.Errorf("N-Triples with a graph: %+v", e.counts)
	}
	e = readEvents(t, strings.NewReader("<a:s> <a:p> <a:o> .\n<a:s> <a:q> <a:p> .\n<a:s> <a:q> \"x\" .\n<a:s> <a\\u003Ab> <a:r> .\n"), Options{Format: NTriples, Predicate: AnyPredicate})
	compare(t, e.lines, []string{"a:s = a:o a:p a:r"})
	e = readEvents(t, strings.NewReader("<a:s> <a:p> <a:o> .\n<a:s> <a:q> <a:p> .\n"), Options{Format: NTriples, Predicate: "a:q"})
	compare(t, e.lines, []string{"a:s = a:p"})
}

// TestTriplesFromPositions reads random statements, in small blocks, from every
// position, and compares the links with those of triple's scanner.
func TestTriplesFromPositions(t *testing.T) {
	r := newRand(t)
	for range 20 {
		var b bytes.Buffer
		for range 1 + r.IntN(200) {
			b.WriteString([]string{"<a:s1>", "<a:s2>", "_:b", "<a b>", "\n<a:s1>"}[r.IntN(5)])
			b.WriteString([]string{" <urn:trefoil:linksTo> ", " <a:p> ", " bad "}[min(r.IntN(12)/5, 2)])
			b.WriteString([]string{"<a:o>", "<a:p>", "\"x\"", "<a:\\u0041>", "<b>"}[r.IntN(5)])
			b.WriteString([]string{" .\n", " .\r\n", "\n", " . # <a:s>\r"}[min(r.IntN(40)/12, 3)])
		}
		opts := Options{Format: NTriples, blockBytes: 1 + r.IntN(2000)}
		e := readEvents(t, bytes.NewReader(b.Bytes()), opts)
		checkPlaces(t, b.Bytes(), opts, e, 20)
		want, rejects := scannedLinks(b.Bytes())
		var got []string
		for _, line := range e.lines {
			if source, targets, ok := strings.Cut(line, " ="); ok && line[0] != '?' {
				for _, target := range strings.Fields(targets) {
					got = append(got, source+" "+target)
				}
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || e.counts.Rejected > rejects {
			t.Fatalf("%q\nwant %q\n%s", got, want, b.Bytes())
		}
	}
}

func scannedLinks(doc []byte) (links []string, rejects int64) {
	sc := triple.NewScanner(bytes.NewReader(doc), triple.ScanOptions{})
	for {
		for sc.Scan() {
			tr := sc.Triple()
			if tr.Predicate.Value() == DefaultPredicate && tr.Subject.Kind() == triple.IRI && tr.Object.Kind() == triple.IRI {
				links = append(links, tr.Subject.Value()+" "+tr.Object.Value())
			}
		}
		if _, ok := sc.Recover(); !ok {
			return links, rejects
		}
		rejects++
	}
}
