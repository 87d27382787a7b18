// Keys of tables and of local state.

package store

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// Tables: the first byte of a Pebble key. The package comment draws the rows.
const (
	TableStorage byte = 0x01 // rows of this machine's segments
	TableReplica byte = 0x02 // extra copies: rows of SPO
	TableLocal   byte = 0x03 // local state
)

// Rows of local state.
var (
	RowCounters  = LocalKey("counters")
	rowIdentity  = LocalKey("identity")
	rowPlacement = LocalKey("placement")
	rowSequence  = LocalKey("sequence")
	rowTrie      = LocalKey("trie")
)

const (
	loadBegin   = "load/begin/"
	loadDone    = "load/done/"
	tokenPrefix = "token/"
)

// LocalError returns an error about a row of local state that does not decode.
func LocalError(b []byte) error {
	return fmt.Errorf("%w: a row of local state: % X", ErrCorrupt, Clip(b))
}

func LocalKey(name string) []byte { return append([]byte{TableLocal}, name...) }

// LocalBounds returns the bounds of the rows of local state whose names begin with prefix.
func LocalBounds(prefix string) (lower, upper []byte) {
	lower, upper = LocalKey(prefix), LocalKey(prefix)
	upper[len(upper)-1]++
	return lower, upper
}

// StorageBounds returns the Pebble bounds of a range of the storage table.
func StorageBounds(r triple.Range) (lower, upper []byte) { return TableBounds(TableStorage, r) }

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

// Counters count triples and annotations with every commit. They are exact except after a bulk
// load beside other writes, because it counts new rows against its start.
type Counters struct{ Triples, Annotations int64 }

func (c Counters) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(max(c.Triples, 0)))
	return binary.AppendUvarint(dst, uint64(max(c.Annotations, 0)))
}

func parseCounters(b []byte) (Counters, error) {
	triples, annotations, err := parseTwo(b)
	return Counters{int64(triples), int64(annotations)}, err
}

func AppendStamp(dst []byte, s triple.Stamp) []byte {
	dst = binary.AppendUvarint(dst, s.Epoch)
	return binary.AppendUvarint(dst, s.Sequence)
}

func parseStamp(b []byte) (triple.Stamp, error) {
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
	return 0, 0, fmt.Errorf("%w: a row of local state: % X", ErrCorrupt, b)
}
