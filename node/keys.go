package node

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// Tables: the first byte of a Pebble key. The package comment draws the rows.
const (
	tableStorage = 0x01
	tableReplica = 0x02
	tableLocal   = 0x03
)

// Rows of local state.
var (
	rowCounters  = localKey("counters")
	rowPlacement = localKey("placement")
	rowSequence  = localKey("sequence")
	rowTrie      = localKey("trie")
)

const (
	loadBegin = "load/begin/"
	loadDone  = "load/done/"
)

func localKey(name string) []byte { return append([]byte{tableLocal}, name...) }

// storageBounds returns the Pebble bounds of a range of the storage table. One
// whose end is before its beginning becomes empty: Pebble does not take it.
func storageBounds(r triple.Range) (lower, upper []byte) {
	lower = append([]byte{tableStorage}, r.Lo...)
	if r.Hi == nil {
		return lower, []byte{tableStorage + 1}
	}
	if r.Empty() {
		return lower, lower
	}
	return lower, append([]byte{tableStorage}, r.Hi...)
}

// counters are kept with every commit. They are exact but for a bulk load that
// runs beside other writes: it counts what is new against its start.
type counters struct{ triples, annotations int64 }

func (c counters) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(max(c.triples, 0)))
	return binary.AppendUvarint(dst, uint64(max(c.annotations, 0)))
}

func parseCounters(b []byte) (counters, error) {
	triples, annotations, err := parseTwo(b)
	return counters{int64(triples), int64(annotations)}, err
}

func appendStamp(dst []byte, s triple.Stamp) []byte {
	dst = binary.AppendUvarint(dst, s.Epoch)
	return binary.AppendUvarint(dst, s.Sequence)
}

func parseStamp(b []byte) (triple.Stamp, error) {
	epoch, sequence, err := parseTwo(b)
	return triple.Stamp{Epoch: epoch, Sequence: sequence}, err
}

// parseTwo reads the two uvarints that b consists of.
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
