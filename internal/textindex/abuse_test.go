// Documents and queries that try to take too much time or memory.

package textindex

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// searchAll returns the number of hits of a query in a segment, and how long it took.
func searchAll(t *testing.T, s *Segment, query string) (int, time.Duration) {
	t.Helper()
	begun := time.Now()
	q, err := Parse(query)
	require.NoError(t, err)
	a, r, parts := NewAnalyzer(), &Request{Query: q}, []*Part{{Segment: s}}
	stats, err := Collect(a, r, parts, noCheck)
	require.NoError(t, err)
	hits, err := Search(a, r, &stats, parts, 10, nil, noCheck)
	require.NoError(t, err)
	return len(hits), time.Since(begun)
}

// TestHugeDocument: a literal with ten million words is indexed, found by words and phrases, and takes memory of a
// few times its size.
func TestHugeDocument(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	text := []byte(strings.Repeat("alpha beta gamma delta ", 10_000_000/4))
	b := NewBuilder(NewAnalyzer(), "x:p", 0)
	require.NoError(t, b.Add(Document{Key: []byte("k"), Text: text, Tag: "en"}))
	s, err := b.Finish()
	require.NoError(t, err)
	if s.Tokens() != 10_000_000 {
		t.Errorf("%d words", s.Tokens())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for query, want := range map[string]int{"gamma": 1, `"beta gamma delta"`: 1, `"gamma beta"`: 0, `"gamma beta"~2`: 1, "alp*": 1, "gmama~1": 1} {
		if n, took := searchAll(t, s, query); n != want || took > 20*time.Second {
			t.Errorf("%s finds %d literals in %s", query, n, took)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("six searches took %d bytes", n)
	}
	q, err := Parse("delta")
	require.NoError(t, err)
	if snippet := Snippet(NewAnalyzer(), q, string(text), "en"); len(snippet) > 1000 {
		t.Errorf("a snippet of %d bytes", len(snippet))
	}
}

// TestManyWords: fuzzy words and prefixes over a large vocabulary are bounded in time, and refused if they stand for too
// many words.
func TestManyWords(t *testing.T) {
	b := NewBuilder(NewAnalyzer(), "x:p", 0)
	for i := range 3000 {
		var text strings.Builder
		for k := range 30 {
			fmt.Fprintf(&text, "a%s ", syllables(uint64(i*30+k)*7919))
		}
		require.NoError(t, b.Add(Document{Key: fmt.Append(nil, i), Text: []byte(text.String())}))
	}
	s, err := b.Finish()
	require.NoError(t, err)
	// 1. Patterns without a common prefix look at all words at worst.
	for _, query := range []string{strings.Repeat("a", 100) + "~2", "xxx~2", "aba~2", strings.Repeat("aaab~2 OR ", 31) + "b"} {
		if _, took := searchAll(t, s, query); took > 20*time.Second {
			t.Errorf("%.20s took %s", query, took)
		}
	}
	// 2. Too many words are an error that says what to do.
	q, err := Parse("a*")
	require.NoError(t, err)
	_, err = Collect(NewAnalyzer(), &Request{Query: q}, []*Part{{Segment: s}}, noCheck)
	if !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), "write more of the word") {
		t.Errorf("a* of %d words: %v", s.terms, err)
	}
	// Many prefixes together may stand for no more.
	for many, want := range map[int]error{1: nil, MaxExpanded: ErrQuery} {
		q, err := Parse(strings.TrimSuffix(strings.Repeat("ab* OR ", many), " OR "))
		require.NoError(t, err)
		if _, err := Collect(NewAnalyzer(), &Request{Query: q}, []*Part{{Segment: s}}, noCheck); !errors.Is(err, want) {
			t.Errorf("ab* %d times: %v", many, err)
		}
	}
	// Words that many segments share count once, so merges do not matter.
	parts := slices.Repeat([]*Part{{Segment: s}}, 10)
	for many, want := range map[int]error{1: nil, MaxExpanded: ErrQuery} {
		text := strings.TrimSuffix(strings.Repeat("ab* OR ", many), " OR ")
		if q, err = Parse(text); err != nil {
			t.Fatal(err)
		}
		r := &Request{Query: q}
		stats, err := Collect(NewAnalyzer(), r, parts, noCheck)
		if n := stats.Frequencies[expansionKey(q.leaves[0], "")]; !errors.Is(err, want) || err == nil && n < MaxExpansions {
			t.Errorf("%.10s in 10 segments: %d, %v", text, n, err)
		}
	}
	// 3. A search ends when its caller wants it.
	stop := errors.New("stop")
	if _, err := Collect(NewAnalyzer(), &Request{Query: q}, []*Part{{Segment: s}}, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
}

// TestStop: a search that looks at many documents and finds none ends when its caller wants it.
func TestStop(t *testing.T) {
	b := NewBuilder(NewAnalyzer(), "x:p", 0)
	for i := range 20_000 {
		text := fmt.Sprintf("%s gap %s %d", []string{"alpha", "beta"}[i%2], []string{"beta", "delta"}[i%2], i)
		require.NoError(t, b.Add(Document{Key: fmt.Append(nil, i), Text: []byte(text)}))
	}
	s, err := b.Finish()
	require.NoError(t, err)
	parts := []*Part{{Segment: s}}
	for _, query := range []string{"alpha delta", `"alpha beta"`, `"alpha beta" OR "delta gap"`, "gap -gap"} {
		q, err := Parse(query)
		require.NoError(t, err)
		a, r := NewAnalyzer(), &Request{Query: q}
		stats, err := Collect(a, r, parts, noCheck)
		require.NoError(t, err)
		if hits, err := Search(a, r, &stats, parts, 10, nil, noCheck); err != nil || len(hits) > 0 {
			t.Errorf("%s: %d hits, %v", query, len(hits), err)
		}
		stop := errors.New("stop")
		if _, err := Search(a, r, &stats, parts, 10, nil, func() error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: the error is %v", query, err)
		}
	}
}

// TestManyCursors: the words of the longest query take a bounded memory, some 2 KB each.
func TestManyCursors(t *testing.T) {
	b := NewBuilder(NewAnalyzer(), "x:p", 0)
	for i := range 200 {
		for _, tag := range []string{"", "en", "de", "fr", "it"} {
			require.NoError(t, b.Add(Document{Key: fmt.Append(nil, i, tag), Text: []byte("q w q w q w"), Tag: tag}))
		}
	}
	s, err := b.Finish()
	require.NoError(t, err)
	phrase := `"` + strings.TrimSpace(strings.Repeat("q w ", 99)) + `"`
	query := strings.Repeat(phrase+" OR ", MaxQueryBytes/(len(phrase)+4)-1) + "q"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n, _ := searchAll(t, s, query); n != 10 {
		t.Errorf("%d hits", n)
	}
	runtime.ReadMemStats(&after)
	// Each language takes its memory when the one before has ended.
	if n := (after.TotalAlloc - before.TotalAlloc) / 5; n > 80<<20 {
		t.Errorf("a search in one language took %d bytes", n)
	}
}

// TestScripts: text from right to left, ideographs and what is no text are indexed and found.
func TestScripts(t *testing.T) {
	for _, c := range []struct{ tag, text, query string }{
		{"he", "הגרף הוא מסד נתונים", "מסד"},
		{"ar", "قاعدة البيانات", "بيانات"},
		{"zh", "图形数据库存储", "数据库"},
		{"ja", "グラフデータベース", "データ"},
		{"ko", "그래프 데이터베이스", "그래프"},
		{"", "图形数据库存储", "数据库"},
		{"th", "ฐานข้อมูล graph", "graph"},
		{"", "\u202egraph\u202c reversed", "graph"},
		{"", "emoji 😀 graph", "graph"},
		{"", strings.Repeat("\u0301", 1000) + " graph", "graph"},
		{"", "zero\x00byte graph", "graph"},
	} {
		b := NewBuilder(NewAnalyzer(), "x:p", 0)
		require.NoError(t, b.Add(Document{Key: []byte("k"), Text: []byte(c.text), Tag: c.tag}))
		s, err := b.Finish()
		require.NoError(t, err)
		if n, _ := searchAll(t, s, c.query); n != 1 {
			t.Errorf("%q in %q finds nothing in %q", c.query, c.tag, c.text)
		}
	}
}
