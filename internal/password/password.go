// Hashes of passwords as text, and their comparison.

// Package password hashes the passwords of users with argon2id (RFC 9106). [New] makes a hash, [Parse] reads
// one, and [Hash.Verify] compares a password with it. The text of a hash is the PHC string format
// (https://github.com/P-H-C/phc-string-format), as other tools write it:
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt in base64>$<hash in base64>
//
// m is the memory of one comparison in KiB, t the number of passes over it, p the number of lanes.
package password

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The costs of new hashes: the first choice of the OWASP Password Storage Cheat Sheet.
const (
	memoryKiB = 19 << 10
	passes    = 2
	lanes     = 1
	saltBytes = 16
	sumBytes  = 32
)

// MaxMemoryKiB is the most memory that a hash may need. MaxBytes is the longest password.
const (
	MaxMemoryKiB = 256 << 10
	MaxBytes     = 1 << 10

	maxPasses, maxLanes  = 16, 16
	minSalt, minSum, top = 8, 16, 64 // bytes
)

// Hash is a hash of a password. It is safe for concurrent use.
type Hash struct {
	memory, passes uint32
	lanes          uint8
	salt, sum      []byte
}

// New returns the hash of a password with a new salt.
func New(password string) Hash {
	h := Hash{memory: memoryKiB, passes: passes, lanes: lanes, salt: make([]byte, saltBytes), sum: make([]byte, sumBytes)}
	_, _ = rand.Read(h.salt) // it never fails
	h.sum = h.compute(password)
	return h
}

// compute returns the sum of a password with the costs and the salt of the hash.
func (h Hash) compute(password string) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.sum)))
}

// Verify reports whether the hash is of a password. It takes the memory and time of the hash, and compares
// in constant time.
func (h Hash) Verify(password string) bool {
	return subtle.ConstantTimeCompare(h.compute(password), h.sum) == 1
}

// String returns the hash as text.
func (h Hash) String() string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.lanes, encode(h.salt), encode(h.sum))
}

// Parse parses the text of a hash. It fails if a cost exceeds its bound, because each request with a wrong
// password would take that much.
func Parse(text string) (h Hash, err error) {
	fields := strings.Split(text, "$")
	if len(fields) != 6 || fields[0] != "" || fields[1] != "argon2id" {
		return h, fmt.Errorf("the hash does not begin with $argon2id$ or has not 5 parts: trefoil users hash makes one")
	}
	version := 0
	if n, err := fmt.Sscanf(fields[2]+" "+fields[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.passes, &h.lanes); err != nil || n != 4 {
		return h, fmt.Errorf("the costs of the hash, %q, are not like v=19$m=19456,t=2,p=1", fields[2]+"$"+fields[3])
	}
	if h.salt, err = base64.RawStdEncoding.Strict().DecodeString(fields[4]); err != nil {
		return h, fmt.Errorf("the salt of the hash: %w", err)
	}
	if h.sum, err = base64.RawStdEncoding.Strict().DecodeString(fields[5]); err != nil {
		return h, fmt.Errorf("the last part of the hash: %w", err)
	}
	// Check the bounds. The text must be the canonical one, so that nothing behind a number is ignored.
	switch {
	case version != argon2.Version:
		return h, fmt.Errorf("the hash has version %d of argon2id, not %d", version, argon2.Version)
	case h.memory < 8*uint32(h.lanes) || h.memory > MaxMemoryKiB || h.passes < 1 || h.passes > maxPasses || h.lanes < 1 || h.lanes > maxLanes:
		return h, fmt.Errorf("the costs of the hash are out of range: m is up to %d and at least 8 times p, t is 1 to %d, p is 1 to %d", MaxMemoryKiB, maxPasses, maxLanes)
	case len(h.salt) < minSalt || len(h.salt) > top || len(h.sum) < minSum || len(h.sum) > top:
		return h, fmt.Errorf("the salt of the hash must have %d to %d bytes, and its last part %d to %d", minSalt, top, minSum, top)
	case h.String() != text:
		return h, fmt.Errorf("the hash is not written as $argon2id$v=19$m=...,t=...,p=...$salt$hash")
	}
	return h, nil
}
