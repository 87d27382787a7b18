// A test of text search with long literals, by HTTP.

package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestLongText: a literal of the greatest size is found by its first and its last word, and its snippet is short.
func TestLongText(t *testing.T) {
	seed.Slow(t)
	db := newStore(t)
	index := newText(t, db)
	s := serve(t, db, Options{Text: index}, ServerOptions{})
	if got := s.do(http.MethodPut, "/text?p=%3Cx:p%3E", ""); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	pad := strings.Repeat("pad ", (triple.MaxTermBytes-64)/4)
	long := "first " + pad + "last"
	if got := s.do(http.MethodPost, "/triples", `<x:s> <x:p> "`+long+`" .`, "Content-Type", "application/n-triples"); got.status != http.StatusOK {
		t.Fatalf("%d %.300s", got.status, got.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := index.Await(ctx); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"first", "last", "%22pad+last%22"} {
		// 1. In brief, with the subject.
		got := s.get("/search?brief=true&subjects=1&q=" + word)
		if got.status != http.StatusOK || len(got.body) > 2000 || !strings.Contains(got.body, "x:s") {
			t.Fatalf("%s: %d, %d bytes: %.300s", word, got.status, len(got.body), got.body)
		}
		// 2. The whole text.
		var answer struct{ Hits []struct{ Text string } }
		got = s.get("/search?q=" + word)
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || len(answer.Hits) != 1 || answer.Hits[0].Text != long {
			t.Fatalf("%s: %v, %d bytes: %.300s", word, err, len(got.body), got.body)
		}
	}
	if got := s.get("/search?q=absent"); !strings.Contains(got.body, `"hits":[]`) {
		t.Errorf("%.300s", got.body)
	}
}
