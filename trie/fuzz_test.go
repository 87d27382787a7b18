// Fuzz tests of the two decoders.

package trie

import (
	"bytes"
	"errors"
	"testing"
)

// resealed returns data with a valid checksum, because fuzzing must get past it. It returns nil
// if data has no room for one.
func resealed(f format, data []byte) []byte {
	if len(data) < magicLen+1+checksumLen {
		return nil
	}
	end := len(data) - checksumLen
	return f.seal(bytes.Clone(data[:end]), 0)
}

func FuzzParseTrie(f *testing.F) {
	f.Add(readHex(f, "trie.hex"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(trieFormat, data)} {
			before := bytes.Clone(data)
			tr, err := Parse(data)
			if !bytes.Equal(data, before) {
				t.Fatal("Parse changed its input")
			}
			if err != nil {
				if tr != nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
					t.Fatalf("%v, %v", tr, err)
				}
				continue
			}
			check(t, tr)
			if again, _ := tr.AppendBinary(nil); !bytes.Equal(again, data) {
				t.Fatalf("encoded again: %x, was %x", again, data)
			}
		}
	})
}

func FuzzParsePlacement(f *testing.F) {
	f.Add(readHex(f, "placement.hex"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(placementFormat, data)} {
			p, err := ParsePlacement(data)
			if err != nil {
				if p != nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
					t.Fatalf("%v, %v", p, err)
				}
				continue
			}
			for i := range p.Partitions() {
				if owner := p.PartitionOwner(uint32(i)); owner == 0 || !p.Machines().Contains(owner) {
					t.Fatalf("partition %d: %s", i, owner)
				}
			}
			if again, _ := p.AppendBinary(nil); !bytes.Equal(again, data) {
				t.Fatalf("encoded again: %x, was %x", again, data)
			}
		}
	})
}
