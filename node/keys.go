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

// Tables of rows of triples, for [Snapshot.Raw] and [Store.Fill].
const (
	TableStorage byte = tableStorage // the versions of this machine's segments
	TableReplica byte = tableReplica // extra replicas: versions of SPO
)

// Rows of local state.
var (
	rowAnnotated   = localKey("annotated")
	rowCounters    = localKey("counters")
	rowIdentity    = localKey("identity")
	rowIncarnation = localKey("incarnation")
	rowLoads       = localKey("loads")
	rowMark        = localKey("mark")
	rowPlacement   = localKey("placement")
	rowSequence    = localKey("sequence")
	rowTrie        = localKey("trie")
)

const (
	heardPrefix     = "heard/"
	loadBegin       = "load/begin/"
	loadDone        = "load/done/"
	loadTaken       = "load/taken/"
	tokenPrefix     = "token/"
	unsettledPrefix = "unsettled/"
)

func localKey(name string) []byte { return append([]byte{tableLocal}, name...) }

// localBounds returns the bounds of the rows of local state whose names begin so.
func localBounds(prefix string) (lower, upper []byte) {
	lower, upper = localKey(prefix), localKey(prefix)
	upper[len(upper)-1]++
	return lower, upper
}

// storageBounds returns the Pebble bounds of a range of the storage table.
func storageBounds(r triple.Range) (lower, upper []byte) { return tableBounds(tableStorage, r) }

// tableBounds returns the Pebble bounds of a range of a table. One whose end is
// before its beginning becomes empty: Pebble does not take it.
func tableBounds(table byte, r triple.Range) (lower, upper []byte) {
	lower = append([]byte{table}, r.Lo...)
	if r.Hi == nil {
		return lower, []byte{table + 1}
	}
	if r.Empty() {
		return lower, lower
	}
	return lower, append([]byte{table}, r.Hi...)
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
