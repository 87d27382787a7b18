// The time of filters on a million literals, with and without trigrams. internal/textsearch/DESIGN.md has the figures.

package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

// benchLiterals is the number of literals; TREFOIL_LITERALS has another one.
func benchLiterals(b *testing.B) int {
	n := 1_000_000
	if text := os.Getenv("TREFOIL_LITERALS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatalf("TREFOIL_LITERALS: %v", err)
		}
	}
	return n
}

// sentence returns a text of about eight words, frequent ones as a rule. One of 10,000 has the word "Quokka", and one of 50
// the word "numbat".
func sentence(r *rand.Rand) string {
	var text strings.Builder
	for range 3 + r.IntN(10) {
		for v := int(500 / (r.Float64() + 0.001)); v > 0; v /= 100 { // 500 to 500,000, half of them below 1,000
			text.WriteByte("bcdfghjklmnprstvwxyz"[v%100/5])
			text.WriteByte("aeiou"[v%5])
		}
		text.WriteByte(' ')
	}
	if r.IntN(10_000) == 0 {
		text.WriteString("Quokka")
	}
	if r.IntN(50) == 0 {
		text.WriteString("numbat")
	}
	return text.String()
}

// BenchmarkTrigramFilters measures queries with a rare and an absent word.
func BenchmarkTrigramFilters(b *testing.B) {
	// 1. A store of literals.
	db, err := store.Open(b.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	random, n := rand.New(rand.NewPCG(1, 2)), benchLiterals(b)
	p := triple.NewIRI("http://www.w3.org/2000/01/rdf-schema#label")
	var list []triple.Triple
	size := 0
	for i := range n {
		text := sentence(random)
		size += len(text)
		list = append(list, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("http://example.org/", i)), Predicate: p, Object: triple.NewLang(text, "en")})
		if len(list) == 50_000 || i == n-1 {
			if _, err := store.Add(b.Context(), db, list); err != nil {
				b.Fatal(err)
			}
			list = list[:0]
		}
	}
	// 2. The index, without and with trigrams.
	index, err := textsearch.Open(db, textsearch.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer index.Close()
	plain, err := New(db, Options{SpillDir: b.TempDir(), Timeout: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	with, err := New(db, Options{SpillDir: b.TempDir(), Text: index, Timeout: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	for _, add := range []func(context.Context, string) error{index.Add, index.AddTrigrams} {
		began := time.Now()
		if err := add(b.Context(), p.Value()); err != nil {
			b.Fatal(err)
		}
		if err := index.Await(b.Context()); err != nil {
			b.Fatal(err)
		}
		s, err := index.Status(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d literals of %d bytes are built in %s; %d bytes a literal, trigrams take %d of them", n, size/n, time.Since(began).Round(time.Millisecond), s[0].Bytes/int64(n), s[0].TrigramBytes/int64(n))
	}
	// 3. The queries.
	for _, filter := range []string{`CONTAINS(LCASE(?x), "quokka")`, `REGEX(?x, "quo[kq]ka")`, `REGEX(?x, "(quo|wom)kka", "i")`, `CONTAINS(?x, "wombat")`, `CONTAINS(?x, "numbat")`} {
		for _, e := range []struct {
			name   string
			engine *Engine
		}{{"trigrams", with}, {"rows", plain}} {
			b.Run(filter+"/"+e.name, func(b *testing.B) {
				found := 0
				for range b.N {
					q, err := e.engine.Prepare(b.Context(), "SELECT ?s ?x { ?s <"+p.Value()+"> ?x FILTER "+filter+" }", Params{})
					if err != nil {
						b.Fatal(err)
					}
					a, err := q.Run(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					found = 0
					for _, err := range a.Rows() {
						if err != nil {
							b.Fatal(err)
						}
						found++
					}
					a.Close()
				}
				b.ReportMetric(float64(found), "rows")
			})
		}
	}
}
