package httpapi

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/triple"
)

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
	p := params{}
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
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindBadCursor || e.Where != "cursor" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestForgedCursorStaysInside: what a forged cursor gets lies within the bounds.
func TestForgedCursorStaysInside(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	bounds := []string{"order", "pos", "prefix", "<" + ex + "size>", "ge", "1"}
	q := mustQuery(t, bounds...)
	forged := append(append([]byte{}, q.keys.Lo...), 0, 1, 2)
	got := s.get(target("/range", append(bounds, "cursor", forge(q, 1, q.fingerprint(), forged))...))
	if got.status == 200 {
		whole := s.get(target("/range", bounds...))
		if len(got.body) > len(whole.body) {
			t.Errorf("a forged cursor answered\n%s\nof\n%s", got.body, whole.body)
		}
		return
	}
	got.wantError(t, 400, KindBadCursor, "cursor", "")
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
