// Helpers of the tests of all formats.

package linkfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

var newRand = seed.Rand

// pageText writes a page as "source = target target". A '!' precedes it if it replaces, and a '+'
// follows if it continues. Weight, text and nofollow follow their target.
func pageText(p *Page) string {
	var b strings.Builder
	if p.Replace {
		b.WriteByte('!')
	}
	fmt.Fprintf(&b, "%s =", p.Source)
	for _, l := range p.Links {
		fmt.Fprintf(&b, " %s", l.Target)
		if l.Weight != nil {
			fmt.Fprintf(&b, "*%s", l.Weight)
		}
		if l.Text != nil {
			fmt.Fprintf(&b, "%q", l.Text)
		}
		if l.NoFollow {
			b.WriteString("-")
		}
	}
	if p.More {
		b.WriteString(" +")
	}
	return b.String()
}

// rejectText writes a reject as "? line:column@offset message | text".
func rejectText(err *triple.SyntaxError, text []byte) string {
	return fmt.Sprintf("? %d:%d@%d %s | %s", err.Line, err.Column, err.Offset, err.Msg, text)
}

// events are the results of a reader, and its position after each one.
type events struct {
	lines  []string
	places []Position
	counts Counts
	format Format
}

// readEvents reads a whole file, over rejects.
func readEvents(t testing.TB, r io.Reader, opts Options) events {
	t.Helper()
	e, err := tryEvents(r, opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryEvents(r io.Reader, opts Options) (e events, err error) {
	rd, err := NewReader(r, opts)
	if err != nil {
		return e, err
	}
	for {
		for rd.Scan() {
			e.lines = append(e.lines, pageText(rd.Page()))
			e.places = append(e.places, rd.Position())
		}
		err := rd.Err()
		if err == nil {
			e.counts, e.format = rd.Counts(), rd.Format()
			return e, nil
		}
		var syntax *triple.SyntaxError
		errors.As(err, &syntax)
		text, ok := rd.Recover()
		if !ok {
			return e, err
		}
		e.lines = append(e.lines, rejectText(syntax, text))
		e.places = append(e.places, rd.Position())
	}
}

// checkPlaces reads the file again from each place (at most about most of them) and compares the
// rest.
func checkPlaces(t testing.TB, doc []byte, opts Options, e events, most int) {
	t.Helper()
	opts.Format = e.format
	step := max(len(e.places)/most, 1)
	for i := 0; i < len(e.places); i += step {
		opts.From = e.places[i]
		rest, err := tryEvents(bytes.NewReader(doc[opts.From.Offset:]), opts)
		if err != nil {
			t.Fatalf("from %+v: %v", opts.From, err)
		}
		want := e.lines[i+1:]
		if strings.Join(rest.lines, "\n") != strings.Join(want, "\n") {
			t.Fatalf("from %+v, after %s:\n%s\nwant\n%s", opts.From, e.lines[i], strings.Join(rest.lines, "\n"), strings.Join(want, "\n"))
		}
	}
}

// compare compares the results with the expected ones. An expected reject may end in "..." after
// the part of its text that counts.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing %q", want[i])
		case i >= len(want):
			t.Errorf("more: %q", got[i])
		default:
			before, after, cut := strings.Cut(want[i], "...")
			if got[i] != want[i] && !(cut && strings.HasPrefix(got[i], before) && strings.HasSuffix(got[i], after)) {
				t.Errorf("%d:\n got %s\nwant %s", i, got[i], want[i])
			}
		}
	}
}

// checkPage tests that a page can be stored.
func checkPage(t testing.TB, p *Page) {
	t.Helper()
	for i := -1; i < len(p.Links); i++ {
		name := p.Source
		if i >= 0 {
			name = p.Links[i].Target
			if w := p.Links[i].Weight; w != nil && !isNumber(w) {
				t.Fatalf("weight %q", w)
			}
			if err := triple.NewString(string(p.Links[i].Text)).Check(); err != nil {
				t.Fatalf("text %q: %v", p.Links[i].Text, err)
			}
		}
		if err := triple.CheckIRI(string(name)); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
}

// recovered continues after a reject, if there is one.
func (rd *Reader) recovered() bool {
	_, ok := rd.Recover()
	return ok
}

// endless yields n times the text.
type endless struct {
	text string
	left int64
	rest string
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.rest == "" {
			if e.left == 0 {
				break
			}
			e.left--
			e.rest = e.text
		}
		k := copy(p[n:], e.rest)
		e.rest = e.rest[k:]
		n += k
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
