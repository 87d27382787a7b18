// The tables of a store's database, and the keys of its local state.

// Package keyspace has the keys of a store's Pebble database. The first byte of a key is its
// table: [Storage], [Replica] or [Local]. The comment of package store draws the rows.
package keyspace

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// The tables.
const (
	Storage byte = 0x01 // rows of this machine's segments
	Replica byte = 0x02 // extra copies: rows of SPO
	Local   byte = 0x03 // local state
)

// RowCounters holds the [Counters].
var RowCounters = LocalKey("counters")

// LocalError returns an error about a row of local state that does not decode.
func LocalError(b []byte) error {
	return fmt.Errorf("%w: a row of local state: % X", fault.ErrCorrupt, Clip(b))
}

// LocalKey returns the key of a row of local state.
func LocalKey(name string) []byte { return append([]byte{Local}, name...) }

// LocalBounds returns the bounds of the rows of local state whose names begin with prefix.
func LocalBounds(prefix string) (lower, upper []byte) {
	lower, upper = LocalKey(prefix), LocalKey(prefix)
	upper[len(upper)-1]++
	return lower, upper
}

// StorageBounds returns the Pebble bounds of a range of the storage table.
func StorageBounds(r triple.Range) (lower, upper []byte) { return TableBounds(Storage, r) }

// TableBounds returns the Pebble bounds of a range of a table. If the end is before the beginning,
// the result is empty, because Pebble rejects such bounds.
func TableBounds(table byte, r triple.Range) (lower, upper []byte) {
	lower = append([]byte{table}, r.Lo...)
	if r.Hi == nil {
		return lower, []byte{table + 1}
	}
	if r.Empty() {
		return lower, lower
	}
	return lower, append([]byte{table}, r.Hi...)
}

// RowInexact is set if the [Counters] are not exact.
var RowInexact = LocalKey("counters/inexact")

// Counters count triples and annotations with every commit. They are exact except after a bulk
// load beside other writes, because it counts new rows against its start; see [RowInexact].
type Counters struct {
	Triples, Annotations int64
	// Links are those of Triples that have the UIDs and hosts of links, see [systemgraph.IsLink].
	Links int64
}

// Count counts n triples with the key of a row, without the byte of its table.
func (c *Counters) Count(key []byte, n int64) {
	c.Triples += n
	if systemgraph.IsLinkKey(key) {
		c.Links += n
	}
}

// Append appends the value of [RowCounters]. It leaves out Links if they are 0.
func (c Counters) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(max(c.Triples, 0)))
	dst = binary.AppendUvarint(dst, uint64(max(c.Annotations, 0)))
	if c.Links > 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Links))
	}
	return dst
}

// ParseCounters reads the value of [RowCounters].
func ParseCounters(b []byte) (c Counters, err error) {
	left := b
	for _, n := range []*int64{&c.Triples, &c.Annotations, &c.Links} {
		value, size := binary.Uvarint(left)
		if size <= 0 {
			return Counters{}, LocalError(b)
		}
		if *n, left = int64(value), left[size:]; len(left) == 0 && n != &c.Triples {
			return c, nil
		}
	}
	return Counters{}, LocalError(b)
}

// AppendStamp appends a stamp as two uvarints.
func AppendStamp(dst []byte, s triple.Stamp) []byte {
	dst = binary.AppendUvarint(dst, s.Epoch)
	return binary.AppendUvarint(dst, s.Sequence)
}

// ParseStamp reads the result of [AppendStamp].
func ParseStamp(b []byte) (triple.Stamp, error) {
	epoch, sequence, err := parseTwo(b)
	return triple.Stamp{Epoch: epoch, Sequence: sequence}, err
}

// parseTwo reads the two uvarints of b.
func parseTwo(b []byte) (first, second uint64, err error) {
	first, n := binary.Uvarint(b)
	if n > 0 {
		var m int
		if second, m = binary.Uvarint(b[n:]); m > 0 && n+m == len(b) {
			return first, second, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: a row of local state: % X", fault.ErrCorrupt, b)
}

// Clip shortens a key or value for a message.
func Clip(b []byte) []byte {
	const limitBytes = 120
	return b[:min(len(b), limitBytes)]
}
