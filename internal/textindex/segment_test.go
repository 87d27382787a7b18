// Tests of the format of segments: damage, limits and golden bytes.

package textindex

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

func sample(t testing.TB, n int) (*Segment, []byte, []byte) { return sampleOf(t, n, false) }

func sampleOf(t testing.TB, n int, trigrams bool) (*Segment, []byte, []byte) {
	b := NewBuilder(NewAnalyzer(), "x:p", 3)
	if trigrams {
		b.AddTrigrams()
	}
	for i := range n {
		text := fmt.Sprintf("document %d of the graph w%d %s", i, i%7, strings.Repeat("again ", i%5))
		require.NoError(t, b.Add(Document{Key: fmt.Appendf(nil, "%d", i), Text: []byte(text), Tag: []string{"", "en", "de-AT"}[i%3]}))
	}
	s, err := b.Finish()
	require.NoError(t, err)
	docs := make([]byte, s.docsSize)
	if _, err := s.docs.ReadAt(docs, 0); err != nil && n > 0 {
		t.Fatal(err)
	}
	return s, s.body, docs
}

// TestGolden compares the bytes of a segment with trigrams with a file.
func TestGolden(t *testing.T) {
	_, body, docs := sampleOf(t, 3, true)
	got := hex.Dump(append(bytes.Clone(body), docs...))
	const path = "testdata/segment.hex"
	goldenfile.Check(t, path, got)
}

// TestDamage changes each byte of a segment. A changed body is refused, and changed documents are an error when
// they are read.
func TestDamage(t *testing.T) {
	_, body, docs := sample(t, 200)
	for i := range body {
		other := bytes.Clone(body)
		other[i] ^= 0x10
		if _, err := Open(other, bytes.NewReader(docs), int64(len(docs))); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d is changed: %v", i, err)
		}
	}
	for n := range len(body) {
		if _, err := Open(body[:n], bytes.NewReader(docs), int64(len(docs))); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes are left: %v", n, err)
		}
	}
	for i := range docs {
		other := bytes.Clone(docs)
		other[i] ^= 0x10
		s, err := Open(body, bytes.NewReader(other), int64(len(docs)))
		require.NoError(t, err)
		for _, failed := range s.Keys() {
			err = failed
		}
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d of the documents is changed: %v", i, err)
		}
	}
}

// damageQueries are queries of all kinds of matchers.
func damageQueries(t testing.TB) (queries []*Query) {
	for _, text := range []string{"graph document OR again", `"of the graph"~2`, "w*", "agian~2", "graph w* -again", "graph OR of OR the"} {
		q, err := Parse(text)
		require.NoError(t, err)
		queries = append(queries, q)
	}
	return queries
}

// readDamaged reads and merges a segment of any bytes, without their checksum. Each result is ErrDamaged, or complete.
func readDamaged(t testing.TB, body, docs []byte, queries []*Query) {
	body = binary.LittleEndian.AppendUint64(body, xxhash.Sum64(body))
	s, err := Open(body, bytes.NewReader(docs), int64(len(docs)))
	if err != nil {
		return
	}
	p := []*Part{{Segment: s}}
	a := NewAnalyzer()
	for _, q := range queries {
		r := &Request{Query: q}
		stats, err := Collect(a, r, p, noCheck)
		if err == nil {
			_, err = Search(a, r, &stats, p, 3, nil, noCheck)
		}
		if err == nil {
			_, err = Scores(a, r, &stats, p, [][]byte{[]byte("k0"), docs[:min(8, len(docs))]}, noCheck)
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	if _, err := Merge(p, noCheck); err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

// TestDamageWithin changes every seventh byte of a segment whose checksum is right.
func TestDamageWithin(t *testing.T) {
	seed.Slow(t)
	_, body, docs := sample(t, 200)
	body = body[:len(body)-8]
	queries := damageQueries(t)
	first := rand.IntN(7)
	t.Logf("from byte %d on", first)
	for at := first; at < len(body); at += 7 {
		other := append(make([]byte, 0, len(body)+8), body...)
		other[at] ^= []byte{0x01, 0x80, 0xff}[at%3]
		readDamaged(t, other, docs, queries)
	}
}

// FuzzSegment reads and merges segments of any bytes whose checksum is right. Each is an error, or complete.
func FuzzSegment(f *testing.F) {
	for _, n := range []int{0, 1, 200} {
		_, body, docs := sample(f, n)
		f.Add(body[:len(body)-8], docs, 0, byte(0))
	}
	queries := damageQueries(f)
	f.Fuzz(func(t *testing.T, body, docs []byte, at int, value byte) {
		body = bytes.Clone(body)
		if at >= 0 && at < len(body) {
			body[at] = value
		}
		readDamaged(t, body, docs, queries)
	})
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("some other words ", 50)
	for _, c := range []struct{ query, text, tag, want string }{
		{"graph", "A graph store", "", "A ⟦graph⟧ store"},
		{"stored OR missing", "It stores graphs", "en", "It ⟦stores⟧ graphs"},
		{"grap* dtaa~1", "Graphs and data", "", "⟦Graphs⟧ and ⟦data⟧"},
		{"graph store", long + "the graph and the store " + long, "", "⟦graph⟧ and the ⟦store⟧"},
		{"京都", "東京都", "ja", "東⟦京都⟧"},
		{"nothing", "A graph", "", "A graph"},
		{"nothing", "", "", ""},
	} {
		q, err := Parse(c.query)
		require.NoError(t, err)
		got := Snippet(NewAnalyzer(), q, c.text, c.tag)
		if len(c.text) < 100 && got != c.want || !strings.Contains(got, c.want) || len(got) > snippetBytes+100 {
			t.Errorf("%q in %q: %q, want %q", c.query, c.text[:min(60, len(c.text))], got, c.want)
		}
	}
}
