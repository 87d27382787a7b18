// The writer of archives: chunks and their entries.

package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// rowBytes is about the size of one row of a chunk, before its changes are compressed.
const rowBytes = 64 << 10

// writer writes the entries of an archive.
type writer struct {
	tar     *tar.Writer
	sum     hash.Hash
	created time.Time
	header  *header // not written yet: a request that fails at once must be answered by its error
	zstd    *zstd.Encoder
	packed  []byte // a compressed chunk

	kind   kind // of the chunk that is being filled
	chunk  []byte
	chunks int64

	row   changefeed.Encoder // of the piece that is being filled
	piece piece
	at    time.Time // of its changes
	begun bool      // the piece has changes
	size  int       // bytes of its changes
}

func newWriter(w io.Writer, h header) (*writer, error) {
	// One goroutine, because the store needs the other processors.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return &writer{tar: tar.NewWriter(w), sum: sha256.New(), created: h.Created, header: &h, zstd: z}, nil
}

// beginArchive writes the header, unless it is written.
func (w *writer) beginArchive() error {
	h := w.header
	if h == nil {
		return nil
	}
	w.header = nil
	return w.json(headerName, h)
}

// entry writes one entry, the first one behind the header.
func (w *writer) entry(name string, data []byte) error {
	if err := w.beginArchive(); err != nil {
		return err
	}
	sumEntry(w.sum, name, int64(len(data)))
	w.sum.Write(data)
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: w.created.Truncate(time.Second), Format: tar.FormatUSTAR}
	if err := w.tar.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.tar.Write(data)
	return err
}

// sumEntry adds the name and the size of an entry to a checksum. Its data must follow.
func sumEntry(sum hash.Hash, name string, size int64) {
	sum.Write(append([]byte(name), 0))
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
}

func (w *writer) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return w.entry(name, append(data, '\n'))
}

// begin begins a chunk of another kind, if the present one is of another.
func (w *writer) begin(k kind) error {
	if w.kind == k {
		return nil
	}
	err := w.endChunk()
	w.kind = k
	return err
}

// open begins a piece if the present one is of another time, sequencer or epoch, or is full.
func (w *writer) open(at time.Time, epoch uint64, sequencer trie.MachineID, position string) error {
	if w.begun && (w.size >= rowBytes || !w.at.Equal(at) || w.piece.epoch != epoch || w.piece.sequencer != sequencer || position != "") {
		if err := w.endPiece(); err != nil {
			return err
		}
	}
	if !w.begun {
		w.piece = piece{position: position, epoch: epoch, sequencer: sequencer}
		w.row.Begin(at)
		w.begun, w.size, w.at = true, 0, at
	}
	return nil
}

// endPiece adds the present piece to the chunk, and writes the chunk if it is full.
func (w *writer) endPiece() error {
	if !w.begun {
		return nil
	}
	w.begun = false
	w.piece.row = w.row.Bytes(false)
	w.chunk = appendPiece(w.chunk, w.piece)
	if len(w.chunk) >= chunkBytes {
		return w.endChunk()
	}
	return nil
}

// endChunk writes the present chunk.
func (w *writer) endChunk() error {
	if w.begun {
		if err := w.endPiece(); err != nil {
			return err
		}
	}
	if len(w.chunk) == 0 {
		return nil
	}
	w.chunks++
	w.packed = w.zstd.EncodeAll(w.chunk, w.packed[:0])
	w.chunk = w.chunk[:0]
	return w.entry(fmt.Sprintf("%s/%08d", w.kind, w.chunks), w.packed)
}

// change adds a change of the feed to a chunk of changes. at and position are its batch's.
func (w *writer) change(c *feed.Change, at time.Time, position feed.Position) error {
	if err := w.begin(kindChanges); err != nil {
		return err
	}
	if !c.Time.IsZero() {
		at = c.Time
	}
	// 1. A load ends its chunk, because its rows follow.
	if c.Kind == feed.Load {
		if err := w.open(at, 0, c.Sequencer, position.String()); err != nil {
			return err
		}
		w.row.Load(0, c.Stamp, *c.Load)
		return w.endChunk()
	}
	// 2. All others share pieces.
	if err := w.open(at, c.Stamp.Epoch, c.Sequencer, ""); err != nil {
		return err
	}
	switch c.Kind {
	case feed.Annotate:
		w.row.Annotate(c.Stamp.Sequence, c.Key, c.Long, *c.Annotation)
		w.size += len(c.Annotation.Data)
	case feed.Clear:
		w.row.Clear(c.Stamp.Sequence, *c.Clear)
	default:
		w.row.Triple(c.Kind, c.Stamp.Sequence, c.Key, c.Long)
	}
	w.size += len(c.Key) + len(c.Long)
	return nil
}

// triple adds a triple and its annotations to a chunk of rows. Its key is in SPO.
func (w *writer) triple(k kind, key, value []byte, annotations []triple.ApplicationData) error {
	if err := w.begin(k); err != nil {
		return err
	}
	if err := w.open(time.Time{}, 0, 0, ""); err != nil {
		return err
	}
	long, err := longOf(value)
	if err != nil {
		return err
	}
	w.row.Triple(feed.Add, 0, key, long)
	w.size += len(key) + len(long)
	for _, a := range annotations {
		// A piece must not have all annotations of a triple, because they may have any size.
		if err := w.open(time.Time{}, 0, 0, ""); err != nil {
			return err
		}
		w.row.Annotate(0, key, long, feed.Annotation{ApplicationID: a.ApplicationID, Data: a.Data})
		w.size += len(key) + len(long) + len(a.Data)
	}
	return nil
}

// end writes the last chunk and the trailer.
func (w *writer) end(t trailer) error {
	if err := errors.Join(w.endChunk(), w.beginArchive()); err != nil {
		return err
	}
	t.Chunks, t.SHA256 = w.chunks, hex.EncodeToString(w.sum.Sum(nil))
	if err := w.json(trailerName, t); err != nil {
		return err
	}
	return w.tar.Close()
}
