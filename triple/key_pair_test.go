// Tests of the first two terms of keys.

package triple

import (
	"bytes"
	"testing"
)

// TestKeyPair has keys, ends of ranges, and what is too short.
func TestKeyPair(t *testing.T) {
	with := Triple{Subject: NewIRI("a:s"), Predicate: NewIRI("a:p"), Object: NewString("o\x00\x01x"), Graph: NewIRI("a:g")}
	key, _ := AppendKey(nil, POS, with)
	scan, err := Pattern{Predicate: with.Predicate, Object: with.Object}.Scan(POS)
	if err != nil {
		t.Fatal(err)
	}
	pair, ok := KeyPair(key)
	low, alsoOK := KeyPair(scan.Range.Lo)
	if !ok || !alsoOK || !bytes.Equal(pair, low) || !bytes.HasPrefix(key, pair) {
		t.Fatalf("% X, %v\n% X, %v", pair, ok, low, alsoOK)
	}
	if rest := key[len(pair):]; !bytes.HasPrefix(rest, []byte{0, 1}) {
		t.Errorf("the key goes on with % X", rest)
	}
	other := with
	other.Subject, other.Graph = NewIRI("a:other"), Term{}
	otherKey, _ := AppendKey(nil, POS, other)
	if same, ok := KeyPair(otherKey); !ok || !bytes.Equal(same, pair) {
		t.Errorf("another subject: % X, %v", same, ok)
	}
	for n := range len(pair) + 1 {
		if got, ok := KeyPair(key[:n]); ok {
			t.Errorf("the first %d bytes have the pair % X", n, got)
		}
	}
}
