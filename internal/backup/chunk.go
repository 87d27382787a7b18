// The codec of chunks.

package backup

import (
	"encoding/binary"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// chunkBytes is about the size of a chunk before compression. One change is never split, so a chunk
// may be larger: up to maxChunkBytes, because four terms have at most 64 MiB and an annotation 1 MiB.
const (
	chunkBytes    = 4 << 20
	maxChunkBytes = 128 << 20
)

// Limits of the keys in a row and in a chunk. Keys are cut by common prefixes, so a few forged bytes
// could become a large key. The writer ends a row behind rowBytes, and a chunk behind chunkBytes.
const (
	maxRowKeys   = 1 << 20
	maxChunkKeys = 512 << 20
)

// piece is the changes of one sequencer in one batch.
type piece struct {
	position  string // of the batch, if it has a Load
	epoch     uint64
	sequencer trie.MachineID
	row       []byte
}

// appendPiece appends a piece to a chunk.
func appendPiece(dst []byte, p piece) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(p.position))), p.position...)
	dst = binary.AppendUvarint(dst, p.epoch)
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.sequencer))
	return append(binary.AppendUvarint(dst, uint64(len(p.row))), p.row...)
}

// cutPiece cuts the first piece off a chunk. Its row aliases chunk.
func cutPiece(chunk []byte) (p piece, rest []byte, err error) {
	position, chunk, ok := cutSized(chunk)
	epoch, n := binary.Uvarint(chunk)
	if !ok || n <= 0 || len(chunk) < n+8 {
		return p, nil, fault.Backup("a piece of a chunk is cut off")
	}
	p = piece{position: string(position), epoch: epoch, sequencer: trie.MachineID(binary.BigEndian.Uint64(chunk[n:]))}
	if p.row, rest, ok = cutSized(chunk[n+8:]); !ok {
		return p, nil, fault.Backup("a row of a chunk is cut off")
	}
	return p, rest, nil
}

func cutSized(b []byte) (part, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	return b[:size:size], b[size:], true
}

// moment is where a change stands in the feed.
type moment struct {
	time     time.Time
	position string // of the batch of a Load
}

// eachChange calls f with each change of a chunk. The change is valid until f returns.
func eachChange(chunk []byte, f func(*feed.Change, moment) error) error {
	var arena []byte
	keys := 0
	for len(chunk) > 0 {
		p, rest, err := cutPiece(chunk)
		if err != nil {
			return err
		}
		chunk = rest
		row, err := changefeed.DecodeRow(p.row)
		if err != nil {
			return err
		}
		at := moment{row.Time, p.position}
		arena = arena[:0]
		for {
			// The keys of a row must stay in the arena, because each may begin like the one before.
			var c feed.Change
			sequence, next, ok, err := row.Next(&c, arena)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			arena = next
			if keys += len(c.Key); len(arena) > maxRowKeys || keys > maxChunkKeys {
				return fault.Backup("the keys of a row have more than %d bytes, or those of a chunk %d", maxRowKeys, maxChunkKeys)
			}
			if c.Kind != feed.Load {
				c.Stamp, c.Sequencer = triple.Stamp{Epoch: p.epoch, Sequence: sequence}, p.sequencer
			}
			if err := f(&c, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// longOf returns the long terms of a row's value in the form of feed.Change.Long: nil if it has none.
func longOf(value []byte) ([]byte, error) {
	v, err := triple.DecodeValue(value)
	if err != nil {
		return nil, err
	}
	for _, long := range v.Long {
		if long != nil {
			return (&triple.Value{Long: v.Long}).Append(nil), nil
		}
	}
	return nil, nil
}
