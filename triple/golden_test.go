// Golden tests of the formats of keys, terms and values.

package triple

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
)

// TestGolden pins the formats. A golden file holds commands and, indented below
// each, the bytes it gives:
//
//	term TERM                          as it stands in a key
//	whole TERM                         whole, however long
//	key ORDER S P O [G]
//	value EPOCH SEQUENCE [tombstone] S P O [G]
//	again EPOCH SEQUENCE EPOCH SEQUENCE S P O [G]          value of one added again after a delete
//	annotation ID EPOCH SEQUENCE DATA ORDER S P O [G]     key, then value
//	noted EPOCH SEQUENCE EPOCH SEQUENCE [DATA]            value of one noted on a version
//
// {TEXT*N} in a command is TEXT repeated N times. What is decoded from the bytes
// must be what the command says.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for line := range strings.Lines(string(old)) {
				if strings.HasPrefix(line, "\t") {
					continue
				}
				out.WriteString(line)
				if command := strings.TrimSpace(line); command != "" && command[0] != '#' {
					for _, b := range runGolden(t, command) {
						fmt.Fprintf(&out, "\t%s\n", groups(b))
					}
				}
			}
			goldenfile.Check(t, file, out.String())
		})
	}
}

// groups writes b in hexadecimal, a blank before every mark (00 and a byte after it).
func groups(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); i++ {
		if b[i] == 0 && i+1 < len(b) {
			out.WriteString(" " + hex.EncodeToString(b[i:i+2]) + " ")
			i++
			continue
		}
		out.WriteString(hex.EncodeToString(b[i : i+1]))
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "  ", " ")
}

var repeats = regexp.MustCompile(`\{([^{}*]+)\*([0-9]+)\}`)

// runGolden returns the bytes that a command gives, after testing what they
// decode to.
func runGolden(t *testing.T, command string) [][]byte {
	t.Helper()
	command = repeats.ReplaceAllStringFunc(command, func(s string) string {
		m := repeats.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	name, rest, _ := strings.Cut(command, " ")
	words := func(n int) []string {
		var cut []string
		for range n {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			cut = append(cut, word)
		}
		return cut
	}
	stamp := func(epoch, sequence string) (s Stamp) {
		s.Epoch, _ = strconv.ParseUint(epoch, 0, 64)
		s.Sequence, _ = strconv.ParseUint(sequence, 0, 64)
		return s
	}
	switch name {
	case "term", "whole":
		term, err := ParseTerm(rest)
		if err != nil {
			t.Fatalf("%.80s: %v", command, err)
		}
		// Rows of earlier releases have tags as written.
		if _, tag, ok := strings.Cut(rest, `"@`); ok && foldTag(tag) == term.lang {
			term = writtenLang(term.value, tag)
		}
		b, long := AppendTerm(nil, term)
		if name == "whole" {
			b, long = AppendWholeTerm(nil, term), false
		}
		if got, err := DecodeTerm(b); !long && (err != nil || got != term) {
			t.Errorf("%.80s: decoded as %.80s, %v", command, got, err)
		}
		return [][]byte{b}
	case "key":
		order := goldenOrder(t, words(1)[0])
		tr := goldenTriple(t, rest)
		return [][]byte{goldenKey(t, order, tr)}
	case "value":
		w := words(2)
		v := Value{Stamp: stamp(w[0], w[1])}
		rest, v.Tombstone = strings.CutPrefix(rest, "tombstone ")
		tr := goldenTriple(t, rest)
		b := AppendValue(nil, v.Stamp, tr)
		decoded, err := DecodeValue(b)
		if err != nil || decoded.Stamp != v.Stamp {
			t.Errorf("%.80s: %v, %v", command, decoded, err)
		}
		if v.Tombstone {
			decoded.Tombstone = true
			b = decoded.Append(nil)
		}
		if IsTombstone(b) != v.Tombstone || IsAnnotation(b) {
			t.Errorf("%.80s: tombstone %v", command, IsTombstone(b))
		}
		return [][]byte{b}
	case "again":
		w := words(4)
		decoded, err := DecodeValue(AppendValue(nil, stamp(w[0], w[1]), goldenTriple(t, rest)))
		if err != nil {
			t.Errorf("%.80s: %v", command, err)
		}
		plain := decoded.Append(nil)
		decoded.Deleted = stamp(w[2], w[3])
		b := decoded.Append(nil)
		if v, err := DecodeValue(b); err != nil || v.Deleted != decoded.Deleted || DeletedAt(b) != v.Deleted || string(Bare(b)) != string(plain) {
			t.Errorf("%.80s: %+v, %v", command, v, err)
		}
		return [][]byte{b}
	case "noted":
		w := words(4)
		a := Annotation{Stamp: stamp(w[0], w[1]), On: stamp(w[2], w[3]), Removed: rest == "", Data: []byte(rest)}
		b := a.Append(nil)
		if got, err := DecodeAnnotation(b); err != nil || got.Stamp != a.Stamp || got.On != a.On || got.Removed != a.Removed || string(got.Data) != rest || !IsAnnotation(b) {
			t.Errorf("%.80s: %+v, %v", command, got, err)
		}
		return [][]byte{b}
	case "annotation":
		w := words(4)
		order := goldenOrder(t, words(1)[0])
		version := goldenKey(t, order, goldenTriple(t, rest))
		key := AppendAnnotationKey(nil, version, w[0])
		value := AppendAnnotation(nil, stamp(w[1], w[2]), []byte(w[3]))
		if v, id, ok := CutAnnotation(key); !ok || string(v) != string(version) || string(id) != w[0] {
			t.Errorf("%.80s: %x %q %v", command, v, id, ok)
		}
		if a, err := DecodeAnnotation(value); err != nil || a.Stamp != stamp(w[1], w[2]) || a.On != a.Stamp || string(a.Data) != w[3] || !IsAnnotation(value) {
			t.Errorf("%.80s: %+v %v", command, a, err)
		}
		return [][]byte{key, value}
	}
	t.Fatalf("unknown command %q", command)
	return nil
}

func goldenOrder(t *testing.T, name string) Order {
	t.Helper()
	o, err := ParseOrder(name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func goldenTriple(t *testing.T, text string) Triple {
	t.Helper()
	terms, err := ParseTerms(text)
	if err != nil || len(terms) < 3 {
		t.Fatal(text, err)
	}
	tr := Triple{Subject: terms[0], Predicate: terms[1], Object: terms[2]}
	if len(terms) == 4 {
		tr.Graph = terms[3]
	}
	return tr
}

func goldenKey(t *testing.T, o Order, tr Triple) []byte {
	t.Helper()
	key := mustKey(o, tr)
	gotOrder, got, err := DecodeKey(key, AppendValue(nil, Stamp{}, tr))
	if err != nil || got != tr || gotOrder != o {
		t.Errorf("%s %.80s: decoded as %s %.80s, %v", o, tr, gotOrder, got, err)
	}
	return key
}
