// Cursors and the queries that they continue.

package triples

import (
	"encoding/binary"
	"errors"
	"net/http"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/triple"
)

const ex = "http://example.org/"

// parseQuadsKey returns a key of the order in which q is answered.
func parseQuadsKey(t testing.TB, q *query) []byte {
	t.Helper()
	tr := triple.Triple{Subject: triple.NewIRI(ex + "a"), Predicate: triple.NewIRI(ex + "size"),
		Object: triple.NewTyped("1", triple.XSDInteger), Graph: triple.NewIRI(ex + "g")}
	key, _ := triple.AppendKey(nil, triple.Order(q.keys.Lo[0]), tr)
	return key
}

func mustQuery(t testing.TB, parameters ...string) *query {
	t.Helper()
	p := request.Params{}
	for i := 0; i < len(parameters); i += 2 {
		p[parameters[i]] = parameters[i+1]
	}
	q, err := rangeQuery(p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// forge makes a cursor of any key with a right check and fingerprint.
func forge(q *query, version byte, fingerprint uint64, key []byte) string {
	b := binary.BigEndian.AppendUint64([]byte{version}, fingerprint)
	b = append(b, key...)
	b = binary.BigEndian.AppendUint32(b, uint32(xxhash.Sum64(b)))
	return cursorEncoding.EncodeToString(b)
}

// TestCursorsOfOthers: a cursor that was made for another query, damaged or forged
// is refused, and none reaches beyond the query's bounds.
func TestCursorsOfOthers(t *testing.T) {
	q := mustQuery(t, "order", "pos", "prefix", "<"+ex+"size>", "ge", "1")
	key := parseQuadsKey(t, q)
	good := q.cursor(key)
	if got, err := q.parseCursor(good); err != nil || string(got) != string(key) {
		t.Fatalf("own cursor: %q, %v", got, err)
	}
	if _, err := mustQuery(t, "order", "POS", "prefix", " <"+ex+"size> ", "ge", "01", "limit", "7").parseCursor(good); err == nil {
		t.Error("01 and 1 are the same bound, but not the same term: the cursor should be another's")
	}
	if _, err := mustQuery(t, "order", "POS", "prefix", " <"+ex+"size> ", "ge", `"1"^^xsd:integer`, "limit", "7").parseCursor(good); err != nil {
		t.Errorf("the same query, spelled differently: %v", err)
	}
	outside, _ := triple.AppendKey(nil, triple.POS, triple.Triple{Subject: triple.NewIRI(ex + "a"), Predicate: triple.NewIRI(ex + "size"), Object: triple.NewTyped("0", triple.XSDInteger)})
	damaged := []byte(good)
	damaged[20] ^= 1
	for name, text := range map[string]string{
		"other order":     mustQuery(t, "order", "spo").cursor(key),
		"other bound":     mustQuery(t, "order", "pos", "prefix", "<"+ex+"size>", "ge", "2").cursor(key),
		"other kind":      mustQuery(t, "order", "pos", "prefix", "<"+ex+"size>", "gt", "1").cursor(key),
		"other direction": mustQuery(t, "order", "pos", "prefix", "<"+ex+"size>", "ge", "1", "reverse", "true").cursor(key),
		"a from":          mustQuery(t, "order", "pos", "from", "<"+ex+"size>", "ge", "1").cursor(key),
		"below":           q.cursor(outside),
		"other space":     q.cursor([]byte{byte(triple.SPO), 1, 2}),
		"no key":          q.cursor([]byte{byte(triple.POS)}),
		"beyond":          q.cursor([]byte{0xFF}),
		"damaged":         string(damaged),
		"cut":             good[:len(good)-4],
		"padded":          good + "==",
		"not base64":      "!!!!",
		"version":         forge(q, 2, q.fingerprint(), key),
		"fingerprint":     forge(q, 1, q.fingerprint()+1, key),
		"huge":            string(make([]byte, maxCursorText+1)),
		"short":           "AQ",
	} {
		got, err := q.parseCursor(text)
		var e *problem.Error
		if !errors.As(err, &e) || e.Kind != problem.KindBadCursor || e.Where != "cursor" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzCursor: no text makes parseCursor give a key outside of the query's bounds.
func FuzzCursor(f *testing.F) {
	q := mustQuery(f, "order", "pos", "prefix", "<"+ex+"size>", "ge", "1")
	key := parseQuadsKey(f, q)
	f.Add(q.cursor(key))
	f.Add(forge(q, 2, q.fingerprint(), key))
	f.Add(forge(q, 1, 0, key))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := q.parseCursor(text)
		if err == nil && !q.keys.Contains(key) {
			t.Fatalf("%q reaches out of bounds", text)
		}
		if err == nil && q.cursor(key) != text {
			t.Fatalf("%q is another spelling of %q", text, q.cursor(key))
		}
	})
}

// FuzzQuery: whatever the parameters, a query is refused with an error of ours or
// makes a cursor that it takes back.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"order=spo", "order=pos&prefix=%3Chttp://example.org/size%3E&ge=1&lt=2", "order=osp&starts=%22M%C3%BC&reverse=true",
		"order=gspo&from=%3Chttp://a/%3E&until=%3Chttp://b/%3E&limit=5", "s=_:b&p=a&o=1.5&g=default", "s=%3Chttp://a/%3E&limit=10000",
		"order=spo&order=pos", "s=%zz", "o=%221%22%5E%5Exsd:integer", "cursor=AQ", "order=pos&ge=1&gt=2", "s=;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, endpoint := range []struct {
			params []string
			make   func(request.Params) (*query, error)
		}{{rangeParams, rangeQuery}, {triplesParams, triplesQuery}} {
			p, err := request.ParseParams(raw, endpoint.params)
			if err == nil {
				var q *query
				if q, err = endpoint.make(p); err == nil {
					checkCursor(t, q)
				}
			}
			if err != nil && problem.As(err).Status() != http.StatusBadRequest {
				t.Fatalf("%q: %v", raw, err)
			}
		}
	})
}

// checkCursor checks that a query takes its own cursors, if their keys lie in its
// bounds, and none of another query.
func checkCursor(t *testing.T, q *query) {
	key := parseQuadsKey(t, q)
	got, err := q.parseCursor(q.cursor(key))
	if q.keys.Contains(key) != (err == nil) || err == nil && string(got) != string(key) {
		t.Fatalf("cursor of %q: %q, %v", key, got, err)
	}
	other := *q
	other.reverse = !q.reverse
	if _, err := other.parseCursor(q.cursor(key)); err == nil {
		t.Fatal("a cursor of another direction was taken")
	}
}
