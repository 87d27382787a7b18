// The reader of archives, which verifies them.

package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// maxJSON bounds a header and a trailer.
const maxJSON = 1 << 20

// reader reads one archive.
type reader struct {
	tar     *tar.Reader
	header  header
	from    feed.Position
	trailer *trailer // set at the end
	end     feed.Position

	sum    hash.Hash
	zstd   *zstd.Decoder
	packed []byte
	chunks int64

	kind  kind // of the chunk that comes next; "" at the end
	chunk []byte
}

// recorder passes on what it reads. It keeps a copy until record is nil.
type recorder struct {
	in     io.Reader
	record *bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if r.record != nil {
		r.record.Write(b[:n])
	}
	return n, err
}

// openArchive reads the header of an archive. If the archive has the files of a lone store, r is nil,
// and files is a reader of all of it.
func openArchive(in io.Reader) (r *reader, h header, files io.Reader, err error) {
	// 1. Read the first entry. Its bytes are kept, because another reader may need them.
	from := &recorder{in: in, record: new(bytes.Buffer)}
	r = &reader{tar: tar.NewReader(from), sum: sha256.New()}
	name, data, err := r.entry(maxJSON)
	switch {
	case err != nil:
		return nil, h, nil, fault.Backup("it is no archive that trefoil backup wrote: %w", err)
	case name != headerName:
		return nil, h, nil, fault.Backup("it begins with %q: it is no archive that trefoil backup wrote", name)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, h, nil, fault.Backup("its header: %w", err)
	}
	// 2. The format decides what follows.
	switch h.Format {
	case filesFormat:
		return nil, h, io.MultiReader(from.record, in), nil
	case format:
		from.record = nil
	default:
		return nil, h, nil, fmt.Errorf("%w: the backup has format %d, this program reads formats %d and %d", store.ErrVersion, h.Format, filesFormat, format)
	}
	if h.From != "" {
		if r.from, err = feed.ParsePosition(h.From); err != nil {
			return nil, h, nil, fault.Backup("where it begins: %w", err)
		}
	}
	// 3. Chunks are bounded, because an archive may be forged.
	r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunkBytes))
	if err != nil {
		return nil, h, nil, err
	}
	r.header = h
	return r, h, nil, r.next()
}

// close releases the memory of the reader.
func (r *reader) close() { r.zstd.Close() }

// entry reads the next entry, of at most limit bytes, and adds it to the checksum. The trailer is not
// in the checksum, because it has the sum. The data is valid until the next call.
func (r *reader) entry(limit int64) (name string, data []byte, err error) {
	e, err := r.tar.Next()
	if err != nil {
		return "", nil, err
	}
	if e.Typeflag != tar.TypeReg || e.Size > limit {
		return "", nil, fmt.Errorf("entry %q is not a file of at most %d bytes", e.Name, limit)
	}
	// The buffer grows with the data, because a forged size must not take memory.
	buf := bytes.NewBuffer(r.packed[:0])
	if _, err = io.CopyN(buf, r.tar, e.Size); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	r.packed = buf.Bytes()
	if err == nil && e.Name != trailerName {
		sumEntry(r.sum, e.Name, e.Size)
		r.sum.Write(r.packed)
	}
	return e.Name, r.packed, err
}

// next reads the next chunk. Behind the last one it verifies the trailer.
func (r *reader) next() error {
	r.kind, r.chunk = "", r.chunk[:0]
	name, data, err := r.entry(maxChunkBytes)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fault.Backup("after chunk %d: %w", r.chunks, err)
	}
	if name == trailerName {
		return r.verify(data)
	}
	// 1. The number must be the next one, and the kind must fit.
	r.chunks++
	text, _, _ := strings.Cut(name, "/")
	k := kind(text)
	switch k {
	case kindChanges, kindLoad:
	case kindRows:
		if !r.from.IsZero() {
			return fault.Backup("an increment with rows")
		}
	default:
		return fault.Backup("entry %q", name)
	}
	if want := fmt.Sprintf("%s/%08d", k, r.chunks); name != want {
		return fault.Backup("entry %q, where %q must be: entries are missing or in another order", name, want)
	}
	// 2. Decompress it.
	if r.chunk, err = r.zstd.DecodeAll(data, r.chunk); err != nil {
		return fault.Backup("%s: %w", name, err)
	}
	r.kind = k
	return nil
}

// verify compares the archive with its trailer.
func (r *reader) verify(data []byte) error {
	if err := r.parseTrailer(data); err != nil {
		return err
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != r.trailer.SHA256 || r.chunks != r.trailer.Chunks {
		return fault.Backup("%d chunks with SHA-256 %s, not %d with %s", r.chunks, sum, r.trailer.Chunks, r.trailer.SHA256)
	}
	if e, err := r.tar.Next(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("entry %q", e.Name)
		}
		return fault.Backup("after its trailer: %w", err)
	}
	return nil
}

func (r *reader) parseTrailer(data []byte) (err error) {
	t := new(trailer)
	if err := json.Unmarshal(data, t); err != nil {
		return fault.Backup("its trailer: %w", err)
	}
	if r.end, err = feed.ParsePosition(t.Position); err != nil {
		return fault.Backup("its end: %w", err)
	}
	if !r.from.IsZero() && (r.from.Source != r.end.Source || !covers(r.end, r.from)) {
		return fault.Backup("it ends before its begin")
	}
	r.trailer = t
	return nil
}

// info describes the archive. It must have been read to its end.
func (r *reader) info() Info {
	return Info{Full: r.header.From == "", From: r.from, End: r.end, Complete: r.trailer.Complete, Ended: r.trailer.Ended, Counts: r.trailer.Counts}
}

// filesInfo describes an archive of files by its header.
func filesInfo(h header) (Info, error) {
	i := Info{Files: true, Full: true, Complete: h.Created, Ended: h.Created}
	var err error
	if i.End, err = feed.ParsePosition(h.Position); err != nil {
		return i, fault.Backup("its position: %w", err)
	}
	return i, nil
}

// Read returns the description of an archive. It reads all of it and verifies its checksums. Of an
// archive of files it reads the header only.
func Read(in io.Reader) (Info, error) {
	r, h, files, err := openArchive(in)
	if err != nil {
		return Info{}, err
	}
	if files != nil {
		return filesInfo(h)
	}
	defer r.close()
	for r.kind != "" {
		if err := r.next(); err != nil {
			return Info{}, err
		}
	}
	return r.info(), nil
}
