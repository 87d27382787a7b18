// Digests as bytes, and their sum over machines.

package recovery

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Merge adds the rows of another digest, which must have the same secret and number of buckets.
func (d *Digest) Merge(other *Digest) {
	if d.secret != other.secret || len(d.buckets) != len(other.buckets) {
		panic("recovery: digests that cannot be added up")
	}
	for i := range d.buckets {
		a, b := &d.buckets[i], &other.buckets[i]
		var carry uint64
		a.low, carry = bits.Add64(a.low, b.low, 0)
		a.high, _ = bits.Add64(a.high, b.high, carry)
		a.rows += b.rows
	}
}

// Append appends the buckets that are not empty, ascending. Each is the number of empty buckets
// before it, uvarint, its rows, uvarint, and its sum, 16 bytes little-endian.
func (d *Digest) Append(dst []byte) []byte {
	skipped := uint64(0)
	for i := range d.buckets {
		b := &d.buckets[i]
		if *b == (bucket{}) {
			skipped++
			continue
		}
		dst = binary.AppendUvarint(dst, skipped)
		dst = binary.AppendUvarint(dst, uint64(b.rows))
		dst = binary.LittleEndian.AppendUint64(dst, b.low)
		dst = binary.LittleEndian.AppendUint64(dst, b.high)
		skipped = 0
	}
	return dst
}

// ParseDigest reads the result of Append, of a digest with this secret and 2^bucketBits buckets.
func ParseDigest(secret Secret, bucketBits int, data []byte) (*Digest, error) {
	d := NewDigest(secret, bucketBits)
	for at := uint64(0); len(data) > 0; at++ {
		skipped, n := binary.Uvarint(data)
		rows, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || len(data) < n+m+len(Hash{}) || skipped >= uint64(len(d.buckets)) || at+skipped >= uint64(len(d.buckets)) {
			return nil, fmt.Errorf("recovery: a malformed digest, %d bytes before its end", len(data))
		}
		at += skipped
		data = data[n+m:]
		d.buckets[at] = bucket{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), int64(rows)}
		data = data[len(Hash{}):]
	}
	return d, nil
}

// Place returns the mask for the hashes of rows on one machine: see [Hash.At].
func (s Secret) Place(machine uint64) Hash {
	b := binary.LittleEndian.AppendUint64(append([]byte("place"), s[:]...), machine)
	sum := sha256.Sum256(b)
	return Hash(sum[:len(Hash{})])
}

// At returns the hash of a row on the machine of a mask. It differs from that of the same row on
// another machine.
func (h Hash) At(place Hash) Hash {
	for i := range h {
		h[i] ^= place[i]
	}
	return h
}
