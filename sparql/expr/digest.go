// Digests of keys, for sets of terms and rows.

package expr

import "hash/maphash"

// Digest stands for a key in a set: a hash of 128 bits. Two of a billion keys have one digest with a
// probability of 10^-21. Its seeds are random for each process, so no data can be made to collide.
type Digest struct{ hi, lo uint64 }

// DigestBytes is about the memory of a digest in a map.
const DigestBytes = 40

var digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// DigestOf returns the digest of a key.
func DigestOf(key []byte) Digest {
	return Digest{maphash.Bytes(digestSeeds[0], key), maphash.Bytes(digestSeeds[1], key)}
}
