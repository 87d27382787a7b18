// Keys and values of the rows of the log.

package batchlog

import (
	"cmp"
	"encoding/binary"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Prefix begins the names of the rows of batches.
const Prefix = "unsettled/"

const (
	blockPrefix = "log/block/"
	oldPrefix   = "log/old/"
	trimPrefix  = "log/trim/"
)

var rowTrimmed = keyspace.LocalKey("log/trimmed")

// Stream is an incarnation of a sequencer, which numbers its batches from 1.
type Stream struct {
	Machine     trie.MachineID
	Incarnation uint64
}

// Compare orders by machine, then by incarnation.
func (s Stream) Compare(o Stream) int {
	if c := cmp.Compare(s.Machine, o.Machine); c != 0 {
		return c
	}
	return cmp.Compare(s.Incarnation, o.Incarnation)
}

// Append appends machine and incarnation, 8 bytes each.
func (s Stream) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Machine))
	return binary.BigEndian.AppendUint64(dst, s.Incarnation)
}

// ParseStream decodes the output of Append.
func ParseStream(b []byte) (Stream, error) {
	if len(b) != 16 {
		return Stream{}, keyspace.LocalError(b)
	}
	return Stream{trie.MachineID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}, nil
}

// Key returns the key of the row of a batch.
func Key(s Stream, number uint64) []byte {
	return appendBatch(keyspace.LocalKey(Prefix), s, number)
}

// ParseKey decodes the output of Key.
func ParseKey(key []byte) (Stream, uint64, error) { return parseBatch(key, len(Prefix)) }

func appendBatch(dst []byte, s Stream, number uint64) []byte {
	return binary.BigEndian.AppendUint64(s.Append(dst), number)
}

// parseBatch decodes the stream and the batch at the end of a key, behind the byte of its table and
// skip bytes.
func parseBatch(key []byte, skip int) (s Stream, number uint64, err error) {
	if len(key) != 1+skip+24 {
		return Stream{}, 0, keyspace.LocalError(key)
	}
	b := key[1+skip:]
	s, err = ParseStream(b[:16])
	return s, binary.BigEndian.Uint64(b[16:]), err
}

func blockKey(s Stream, last uint64) []byte {
	return appendBatch(keyspace.LocalKey(blockPrefix), s, last)
}

func oldKey(l late) []byte {
	key := binary.BigEndian.AppendUint64(keyspace.LocalKey(oldPrefix), l.epoch)
	return appendBatch(key, l.stream, l.number)
}

func parseOldKey(key []byte) (l late, err error) {
	if len(key) != 1+len(oldPrefix)+8+24 {
		return l, keyspace.LocalError(key)
	}
	l.epoch = binary.BigEndian.Uint64(key[1+len(oldPrefix):])
	l.stream, l.number, err = parseBatch(key, len(oldPrefix)+8)
	return l, err
}

func trimKey(s Stream) []byte { return s.Append(keyspace.LocalKey(trimPrefix)) }

func (b *block) append(dst []byte) []byte {
	for _, n := range []uint64{uint64(b.bytes), uint64(b.newest), b.first, b.stamp.Epoch, b.stamp.Sequence} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func parseBlock(last uint64, value []byte) (b block, err error) {
	var bytes, newest uint64
	err = parseNumbers(value, &bytes, &newest, &b.first, &b.stamp.Epoch, &b.stamp.Sequence)
	b.last, b.bytes, b.newest = last, int64(bytes), int64(newest)
	return b, err
}

func appendTrim(dst []byte, number uint64, stamp triple.Stamp) []byte {
	return keyspace.AppendStamp(binary.AppendUvarint(dst, number), stamp)
}

// parseNumbers decodes a value that consists of uvarints.
func parseNumbers(value []byte, numbers ...*uint64) error {
	rest := value
	for _, n := range numbers {
		got, size := binary.Uvarint(rest)
		if size <= 0 {
			return keyspace.LocalError(value)
		}
		*n, rest = got, rest[size:]
	}
	if len(rest) > 0 {
		return keyspace.LocalError(value)
	}
	return nil
}
