// Digests: sums over rows that show whether two sets of rows are equal.

package recovery

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/trefoildb/trefoil/triple"
)

// Digest is a sum over a multiset of rows. Rows may come in any sequence and be of any order:
// rows of POS have the digest of the same triples in SPO. If two sets differ, their digests are
// equal only by chance, 2^-128 for each bucket, or by an attack of someone with the secret.
//
// The hash of a row selects its bucket. A bucket holds the sum of the hashes, modulo 2^128, and
// their number. If two digests differ, [Diff] returns the buckets; a second pass over the rows
// of these buckets then finds the rows. Memory is 24 bytes for each bucket.
type Digest struct {
	secret  Secret
	buckets []bucket
	buffer  []byte
}

type bucket struct {
	low, high uint64 // of the sum of the hashes
	rows      int64
}

// Secret makes the hashes of a digest unpredictable, because a client that could predict them
// could choose rows with equal sums. Digests that are compared must have the same secret; each
// comparison must draw a new one.
type Secret [16]byte

// Hash is the hash of a row.
type Hash [16]byte

// NewDigest returns the digest of no rows, with 2^bucketBits buckets.
func NewDigest(secret Secret, bucketBits int) *Digest {
	return &Digest{secret: secret, buckets: make([]bucket, 1<<bucketBits)}
}

// Add adds a row of a triple or of an annotation, and returns its hash and bucket. It does not
// keep the slices. The error wraps [triple.ErrCorrupt].
func (d *Digest) Add(key, value []byte) (hash Hash, at int, err error) {
	if hash, err = d.Hash(key, value); err != nil {
		return hash, 0, err
	}
	return hash, d.AddHash(hash), nil
}

// AddHash adds a row by its hash, and returns its bucket.
func (d *Digest) AddHash(hash Hash) (at int) {
	at = d.Bucket(hash)
	b := &d.buckets[at]
	var carry uint64
	b.low, carry = bits.Add64(b.low, binary.LittleEndian.Uint64(hash[:8]), 0)
	b.high, _ = bits.Add64(b.high, binary.LittleEndian.Uint64(hash[8:]), carry)
	b.rows++
	return at
}

// Hash returns the hash of a row, equal in every order. It covers the secret, the key in SPO,
// and the part of the value that is equal on all machines ([triple.Bare]). The error wraps
// [triple.ErrCorrupt].
func (d *Digest) Hash(key, value []byte) (Hash, error) {
	version, applicationID := key, []byte(nil)
	if triple.IsAnnotation(value) {
		if v, id, ok := triple.CutAnnotation(key); ok {
			version, applicationID = v, id
		}
	}
	// 1. The secret, four bytes for the length, and the key in SPO.
	b := append(d.buffer[:0], d.secret[:]...)
	b = append(b, 0, 0, 0, 0)
	b, _, err := AppendVersion(b, triple.SPO, version)
	if err != nil {
		return Hash{}, err
	}
	if applicationID != nil {
		b = triple.AppendAnnotationKey(b, nil, string(applicationID))
	}
	// 2. The length, so that no other key and value have the same bytes.
	binary.LittleEndian.PutUint32(b[len(d.secret):], uint32(len(b)))
	b = append(b, triple.Bare(value)...)
	d.buffer = b
	sum := sha256.Sum256(b)
	return Hash(sum[:len(Hash{})]), nil
}

// Bucket returns the bucket of a hash.
func (d *Digest) Bucket(h Hash) int {
	return int(binary.LittleEndian.Uint64(h[8:]) & uint64(len(d.buckets)-1))
}

// Rows returns how many rows were added.
func (d *Digest) Rows() int64 {
	n := int64(0)
	for i := range d.buckets {
		n += d.buckets[i].rows
	}
	return n
}

// BucketRows returns how many rows were added to a bucket.
func (d *Digest) BucketRows(at int) int64 { return d.buckets[at].rows }

// Diff returns the buckets in which two digests differ, none if they are equal. Both must have
// the same secret and number of buckets.
func Diff(a, b *Digest) []int {
	if a.secret != b.secret || len(a.buckets) != len(b.buckets) {
		panic("recovery: digests that cannot be compared")
	}
	var differ []int
	for i := range a.buckets {
		if a.buckets[i] != b.buckets[i] {
			differ = append(differ, i)
		}
	}
	return differ
}
