// Tests of the two decoders of a line of the change feed.

package client

import (
	"reflect"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// changeLine returns an add as a node writes it.
func changeLine(t testing.TB, object triple.Term, graph triple.Term, position string) []byte {
	t.Helper()
	key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{
		Subject: triple.NewIRI("http://www.department0.example.edu/GraduateStudent17"), Predicate: triple.NewIRI("http://example.org/univ-bench#takesCourse"),
		Object: object, Graph: graph,
	})
	c := feed.Change{Kind: feed.Add, Stamp: triple.Stamp{Epoch: 2, Sequence: 51234}, Sequencer: 255, Key: key}
	line, err := c.AppendJSON(nil, time.Date(2026, 11, 23, 1, 2, 3, 4e6, time.UTC), position)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// lineObjects are objects without escapes in JSON, one of each form.
var lineObjects = []triple.Term{
	triple.NewIRI("http://www.department0.example.edu/GraduateCourse33"), triple.NewBlank("b"), triple.NewString("Grüße {}:,"),
	triple.NewLang("x", "de-at"), triple.NewTyped("7", triple.XSDInteger),
}

// The decoder without encoding/json knows what nodes write, so that clients are fast.
func TestParsePlain(t *testing.T) {
	for _, o := range lineObjects {
		for _, graph := range []triple.Term{{}, triple.NewIRI("http://example.org/g")} {
			line := changeLine(t, o, graph, "AAECAwQF")
			c, ok := parsePlain(line)
			if !ok || c.Triple.Object != o || c.Triple.Graph != graph || c.Position == "" || c.Sequencer == "" {
				t.Errorf("%s: %+v, %t", line, c, ok)
			}
		}
	}
	if _, ok := parsePlain(changeLine(t, triple.NewString("a\"b"), triple.Term{}, "")); ok {
		t.Error("an escape was decoded as plain text")
	}
}

// Terms of RDF 1.2 are decoded by encoding/json.
func TestParseChangeTerms(t *testing.T) {
	inner := triple.NewTripleTerm(triple.NewBlank("b"), triple.NewIRI("x:p"), triple.NewLang("x", "ar--rtl"))
	for _, o := range []triple.Term{inner, triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), inner), triple.NewLang("x", "en--ltr")} {
		c, err := parseChange(changeLine(t, o, triple.Term{}, "AAECAwQF"))
		if err != nil || c.Triple.Object != o {
			t.Errorf("%s: %v, %v", o, c.Triple, err)
		}
	}
}

// FuzzParsePlain checks that both decoders give the same change.
func FuzzParsePlain(f *testing.F) {
	for _, o := range lineObjects {
		f.Add(changeLine(f, o, triple.Term{}, "AAECAwQF"))
		f.Add(changeLine(f, o, triple.NewIRI("http://example.org/g"), ""))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		plain, ok := parsePlain(line)
		if !ok {
			return
		}
		want, err := parseJSON(line)
		if err != nil || !reflect.DeepEqual(plain, want) {
			t.Errorf("%s\nplain: %+v\nJSON:  %+v, %v", line, plain, want, err)
		}
	})
}

func BenchmarkParseChange(b *testing.B) {
	line := changeLine(b, lineObjects[0], triple.Term{}, "AAECAwQFBgcICQoLDA0ODw")
	for name, parse := range map[string]func([]byte) (Change, error){"plain": parseChange, "json": parseJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := parse(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
