package recovery

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/trefoildb/trefoil/triple"
)

// Digest sums up a multiset of rows, in whatever order they come and whatever
// order their keys are of: rows of POS have the digest of the same triples in
// SPO. Two sets have equal digests exactly when they are equal, but for chance,
// 2^-128 for each bucket, and for who knows the secret.
//
// The rows are spread over buckets by their hash, and a bucket holds the sum of
// the hashes, modulo 2^128, and their number. Where two digests differ, [Diff]
// names the buckets, and a further pass over the rows of these alone finds out
// which. Memory is 24 bytes for each bucket.
type Digest struct {
	secret  Secret
	buckets []bucket
	buffer  []byte
}

type bucket struct {
	low, high uint64 // of the sum of the hashes
	rows      int64
}

// Secret makes the hashes of a digest unpredictable: who could foresee them could
// choose rows whose sums are equal. Digests that are compared share one; draw it
// anew for each comparison.
type Secret [16]byte

// Hash is a row's.
type Hash [16]byte

// NewDigest returns the digest of no rows, with 2^bucketBits buckets.
func NewDigest(secret Secret, bucketBits int) *Digest {
	return &Digest{secret: secret, buckets: make([]bucket, 1<<bucketBits)}
}

// Add adds a row, a version or an annotation, and returns its hash and bucket.
// It keeps nothing of the slices. The error wraps [triple.ErrCorrupt].
func (d *Digest) Add(key, value []byte) (hash Hash, at int, err error) {
	if hash, err = d.Hash(key, value); err != nil {
		return hash, 0, err
	}
	return hash, d.AddHash(hash), nil
}

// AddHash adds the row with a hash, and returns its bucket.
func (d *Digest) AddHash(hash Hash) (at int) {
	at = d.Bucket(hash)
	b := &d.buckets[at]
	var carry uint64
	b.low, carry = bits.Add64(b.low, binary.LittleEndian.Uint64(hash[:8]), 0)
	b.high, _ = bits.Add64(b.high, binary.LittleEndian.Uint64(hash[8:]), carry)
	b.rows++
	return at
}

// Hash returns the hash that a row has in every order: that of the secret, the
// key in SPO, and the value with the stamp, as far as it is the same on all machines
// that have the row ([triple.Bare]). The error wraps [triple.ErrCorrupt].
func (d *Digest) Hash(key, value []byte) (Hash, error) {
	version, applicationID := key, []byte(nil)
	if triple.IsAnnotation(value) {
		if v, id, ok := triple.CutAnnotation(key); ok {
			version, applicationID = v, id
		}
	}
	b := append(d.buffer[:0], d.secret[:]...)
	b = append(b, 0, 0, 0, 0)
	b, _, err := AppendVersion(b, triple.SPO, version)
	if err != nil {
		return Hash{}, err
	}
	if applicationID != nil {
		b = triple.AppendAnnotationKey(b, nil, string(applicationID))
	}
	// Where the key ends, so that no row can pass for another.
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

// Diff returns the buckets in which two digests differ, none where they are
// equal. Both must have the same secret and number of buckets.
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
