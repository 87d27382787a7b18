// Keys and values of variants.

package store

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// row returns the key and the value of a row in the variant. If a term is longer than the
// threshold, the key has its beginning and a hash.
func (v variant) row(row store.Row, terms map[[16]byte][]byte) (key, value []byte, err error) {
	if v.long == 0 {
		return row.Key, row.Value, nil
	}
	// A negative long puts whole terms in a table of terms instead of the value.
	threshold := max(v.long, -v.long)
	o, split, err := triple.SplitKey(row.Key)
	if err != nil {
		return nil, nil, err
	}
	whole, err := triple.WholeTerms(split, row.Value)
	if err != nil {
		return nil, nil, err
	}
	value = slices.Clone(row.Value[:min(len(row.Value), 8)]) // flags and stamp
	for position, term := range whole {
		if len(term) <= threshold {
			continue
		}
		sum := [16]byte(fullHash(term))
		// The cut must not fall between 00 and the byte after it.
		cut := 64
		for term[cut-1] == 0 {
			cut--
		}
		// The key has the beginning, the mark 00 02, and a hash without zero bytes.
		split[position] = append(append(bytes.Clone(term[:cut]), 0, 2), noZero(sum)...)
		if v.long > 0 {
			value = append(value, term...)
		} else {
			terms[sum] = bytes.Clone(term)
		}
	}
	return triple.AppendKeyOf(nil, o, split[0], split[1], split[2], split[3]), value, nil
}

func fullHash(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:16]
}

func noZero(sum [16]byte) []byte {
	return bytes.ReplaceAll(sum[:], []byte{0}, []byte{0, 0xFF})
}

// writeTerms writes the table of terms and returns its size.
func (t *tables) writeTerms(terms map[[16]byte][]byte) (int64, error) {
	if len(terms) == 0 {
		return 0, nil
	}
	hashes := make([][16]byte, 0, len(terms))
	for h := range terms {
		hashes = append(hashes, h)
	}
	// Keys must be written in order: by prefix, then by hash.
	slices.SortFunc(hashes, func(a, b [16]byte) int {
		if c := bytes.Compare(terms[a][:64], terms[b][:64]); c != 0 {
			return c
		}
		return bytes.Compare(a[:], b[:])
	})
	for _, h := range hashes {
		key := append(bytes.Clone(terms[h][:64]), h[:]...)
		if err := t.set(key, terms[h]); err != nil {
			return 0, err
		}
	}
	return t.close()
}
