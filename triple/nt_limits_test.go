// Tests of the limits of lines.

package triple

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestTermLimit: a term of 16 MiB must be accepted, and one with a byte more rejected.
func TestTermLimit(t *testing.T) {
	race.Skip(t)
	full := bytes.Repeat([]byte("x"), MaxTermBytes)
	tests := []struct {
		name, before, after string
		decoded             int // of the rest of the term
	}{
		{"IRI", "<a:", "> .\n", len("a:")},
		{"string", `"`, "\" .\n", 0},
		{"escapes", `"\u00e9\n`, "\" .\n", len("é\n")},
		{"language string", `"`, "\"@en .\n", len("en")},
		{"typed", `"`, `"^^<a:b>` + " .\n", len("a:b")},
		{"blank node", "_:", " .\n", 0},
	}
	for _, test := range tests {
		for _, over := range []int{0, 1} {
			fill := full[:MaxTermBytes-test.decoded]
			doc := io.MultiReader(strings.NewReader("<a:s> <a:p> "+test.before), bytes.NewReader(fill), strings.NewReader("xx"[:over]+test.after), strings.NewReader("<a:s> <a:p> <a:o> .\n"))
			sc := NewScanner(doc, ScanOptions{})
			ok := sc.Scan()
			if over == 0 {
				if !ok || sc.Triple().Object.size() != MaxTermBytes || sc.Triple().Check() != nil {
					t.Errorf("%s of 16 MiB: %v", test.name, sc.Err())
				}
			} else {
				var syntax *SyntaxError
				if ok || !errors.As(sc.Err(), &syntax) || syntax.Msg != ErrTermTooLong.Error() || syntax.Column != 13 {
					t.Errorf("%s of a byte more: %v, %v", test.name, ok, sc.Err())
				}
				if _, ok := sc.Recover(); !ok {
					t.Error("no recovery")
				}
			}
			if !sc.Scan() || sc.Scan() || sc.Err() != nil {
				t.Errorf("%s: what follows is not read: %v", test.name, sc.Err())
			}
		}
	}
	if err := NewString(string(full)).Check(); err != nil {
		t.Error(err)
	}
	if err := NewString(string(full) + "x").Check(); !errors.Is(err, ErrTermTooLong) {
		t.Error(err)
	}
}

// endless yields n times the byte c between two texts.
func endless(before string, c byte, n int64, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), io.LimitReader(repeated(c), n), strings.NewReader(after))
}

type repeated byte

func (c repeated) Read(p []byte) (int, error) {
	p[0] = byte(c)
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	return len(p), nil
}

// TestLongLines: a line over the limit must be one rejected statement. Memory must stay constant
// however long the line is.
func TestLongLines(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	const good = "<a:s> <a:p> <a:o> .\n"
	const length = 200 << 20
	tests := []struct {
		name, before string
		c            byte
		after        string
		want         string
	}{
		{"a literal", good + `<a:s> <a:p> "`, 'x', "\" .\n" + good, "longer than"},
		{"no end of document", good + "<a:", 'x', "", "longer than"},
		{"a comment", good + "#", 'x', "\n" + good, "longer than"},
		{"spaces", good, ' ', "\n" + good, "longer than"},
		{"line breaks after an error", good + "bad", '\n', good, "expected a term"},
	}
	for _, test := range tests {
		sc := NewScanner(endless(test.before, test.c, length, test.after), ScanOptions{MaxLine: 1 << 20})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if !sc.Scan() {
			t.Fatal(test.name, sc.Err())
		}
		var syntax *SyntaxError
		if sc.Scan() || !errors.As(sc.Err(), &syntax) || !strings.Contains(syntax.Msg, test.want) || syntax.Line != 2 || syntax.Column != 1 || syntax.Offset != int64(len(good)) {
			t.Errorf("%s: %v", test.name, sc.Err())
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys - before.HeapSys); grown > 64<<20 {
			t.Errorf("%s: the heap grew by %d MiB", test.name, grown>>20)
		}
		rejected, ok := sc.Recover()
		if !ok || len(rejected) > 64<<10 || !strings.HasPrefix(string(rejected), strings.TrimPrefix(test.before, good)) {
			t.Errorf("%s: %d bytes rejected", test.name, len(rejected))
		}
		if sc.Scan() != strings.HasSuffix(test.after, good) || sc.Err() != nil {
			t.Errorf("%s: then %v", test.name, sc.Err())
		}
	}
	// Many short lines without a statement are no long line.
	for _, c := range []byte{'\n', '\r'} {
		sc := NewScanner(endless("", c, 8<<20, good), ScanOptions{MaxLine: 1 << 20})
		if !sc.Scan() || sc.Scan() || sc.Err() != nil {
			t.Errorf("%q: %v", c, sc.Err())
		}
	}
}

// TestLineLimit: MaxLine bytes are read, one more refused, at any block size.
func TestLineLimit(t *testing.T) {
	const good = "<a:s> <a:p> <a:o> ."
	for _, end := range []string{"", "\n", "\r\n", "\r"} {
		doc := good + end
		if end != "" {
			doc += "# " + strings.Repeat("x", len(good)-2) + end
		}
		for _, blockBytes := range []int{1, 10, 19, 20, 21, 100} {
			if events, err := scanAll(strings.NewReader(doc), ScanOptions{MaxLine: len(good), BlockBytes: blockBytes}); err != nil || len(events) != 1 || events[0].msg != "" {
				t.Errorf("%q, blocks of %d: %+v, %v", doc, blockBytes, events, err)
			}
			events, err := scanAll(strings.NewReader(doc), ScanOptions{MaxLine: len(good) - 1, BlockBytes: blockBytes})
			if err != nil || len(events) == 0 || !strings.Contains(events[0].msg, "longer than 18 bytes") {
				t.Errorf("%q, blocks of %d: %+v, %v", doc, blockBytes, events, err)
			}
		}
	}
}

// TestHostileTextIsLinear: 1 MiB of text that would restart a naive search again and again.
func TestHostileTextIsLinear(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	const size = 1 << 19
	tests := map[string]string{
		"open IRIs":              "<\n",
		"open IRIs, CR":          "<\r",
		"open IRIs, CR LF":       "<\r\n",
		"open literals":          "<a:s> <a:p> \"\n",
		"literals that run on":   "<a:s> <a:p> \"\\\n",
		"bad lines of no start":  "x\n",
		"bare CR":                "<a:s> <a:p> <a:o> .\r",
		"indented":               " <a:s> <a:p> <a:o> .\n",
		"indented and bad":       " <a:s> <a:p> .\n",
		"blank lines":            "\n",
		"quotes on one line":     "\"",
		"backslashes":            "\\",
		"escaped quotes":         `\"`,
		"open IRIs on one line":  "<",
		"CR between":             "\r<a:s> <a:p> <a:o> .\n",
		"a byte that is no text": "\xFF",
	}
	for name, unit := range tests {
		for _, before := range []string{"", `<a:s> <a:p> "`, "<a:s> <"} {
			doc := []byte(before + strings.Repeat(unit, size/len(unit)))
			start := time.Now()
			for _, blockBytes := range []int{64 << 10, 4 * size} {
				if _, err := scanAll(bytes.NewReader(doc), ScanOptions{BlockBytes: blockBytes}); err != nil {
					t.Fatal(err)
				}
			}
			// Linear work takes some 25 ms, and quadratic work minutes.
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s after %q: %v", name, before, took)
			}
		}
	}
}
