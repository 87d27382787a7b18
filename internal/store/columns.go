// The columns of a lone store, see package columncache, and their file, which the next start reads.

package store

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/columncache"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
)

// openColumns begins to build the columns, if they are on.
func (s *Store) openColumns() {
	if s.options.ColumnBytes <= 0 || s.member.checkAlone() != nil {
		return
	}
	s.columns = columncache.New(columncache.Options{
		Memory: s.options.ColumnBytes, Feed: s.feed, Snapshot: s.columnRows, Triples: s.countTriples, Logger: s.options.Logger, File: s.ColumnFile(),
	})
	s.columns.Build()
}

// countTriples returns the number of triples.
func (s *Store) countTriples() int64 {
	counted, err := s.db.Counters()
	if err != nil {
		return 0 // the build meets the error
	}
	return counted.Triples
}

// columnRows returns the rows of a snapshot for a build.
func (s *Store) columnRows(ctx context.Context) (source.Source, feed.Position, func() error, error) {
	if err := s.member.checkAlone(); err != nil {
		return nil, feed.Position{}, nil, err
	}
	sn, err := s.Snapshot()
	if err != nil {
		return nil, feed.Position{}, nil, err
	}
	at, err := sn.position()
	if err != nil {
		_ = sn.Close() // the error that matters is err
		return nil, at, nil, err
	}
	return sn.Source(), at, sn.Close, nil
}

// columnSize returns the bytes of the columns, and how many predicates are stale.
func (s *Store) columnSize() (bytes int64, stale int) {
	if s.columns == nil {
		return 0, 0
	}
	return s.columns.Size()
}

// Columns returns the columns of the snapshot. A member of a cluster has none, because its feed does
// not have all changes.
func (s sparqlSource) Columns(ctx context.Context) *columns.View {
	store := s.snapshot.store
	if store.columns == nil || store.member.checkAlone() != nil || s.snapshot.closed.Load() {
		return nil
	}
	at, err := s.snapshot.position()
	if err != nil {
		return nil // queries read rows, and meet the error there
	}
	return store.columns.View(ctx, at)
}

// ColumnFollower returns the follower of the change feed that keeps the columns current; nil if they are off.
func (s *Store) ColumnFollower() *feed.Follower {
	if s.columns == nil {
		return nil
	}
	return s.columns.Follower()
}

// ColumnFile keeps a set of columns in the data directory. The set is that of the store, or, for a member of
// a cluster, of the whole cluster.
//
// The file is the name of its format, 16 random bytes, the length of the position (4 bytes, big-endian),
// the position as text, the set (see [columns.Set.Write]) as one zstd frame, and XXH64 of all before it (8
// bytes, little-endian). A row of local state holds the random bytes. So a file that another state of the
// database has written does not count, such as one that was there before a restore.
type ColumnFile struct{ store *Store }

// rowColumns holds the random bytes of the column file.
var rowColumns = keyspace.LocalKey("columns")

const (
	columnFileName   = "columns"
	columnFileFormat = "trefoil column file 1\n"
	columnFileID     = 16
)

// errColumnFile means that the file is not the one that this store has written, or is damaged.
var errColumnFile = errors.New("it is damaged, or of another state of the store")

// ColumnFile returns the column file of the store.
func (s *Store) ColumnFile() ColumnFile { return ColumnFile{s} }

// Keep writes a set of a position, unless the store is read only. If there is no room above the watermark of
// the disk, no file is left.
func (f ColumnFile) Keep(ctx context.Context, set *columns.Set, at feed.Position) (err error) {
	s, fs := f.store, f.store.options.FS
	if s.options.ReadOnly {
		return nil
	}
	path, temporary := s.db.Path(columnFileName), s.db.Path(directory.TmpName, s.db.FileName("columns"))
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep columns: %w", err)
			_ = fs.Remove(temporary) // the error that matters is err
		}
	}()
	// 1. Make room. The old file is of no use any more.
	if err := fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if s.db.Spare() < set.Bytes() {
		return errors.New("the disk has no room for them")
	}
	// 2. Write the file, then what makes it valid.
	id := make([]byte, columnFileID)
	rand.Read(id) // never fails
	if err := writeColumnFile(ctx, fs, temporary, id, set, at); err != nil {
		return err
	}
	if err := s.db.SetLocal(rowColumns, id); err != nil {
		return err
	}
	return directory.Rename(fs, temporary, path)
}

// writeColumnFile writes and syncs a file.
func writeColumnFile(ctx context.Context, fs vfs.FS, path string, id []byte, set *columns.Set, at feed.Position) error {
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// 1. The head.
	hash := xxhash.New()
	out := bufio.NewWriterSize(file, 1<<16)
	all := io.MultiWriter(endingWriter{ctx}, hash, out) // a file may change its argument
	text := at.String()
	head := append([]byte(columnFileFormat), id...)
	head = append(binary.BigEndian.AppendUint32(head, uint32(len(text))), text...)
	_, err = all.Write(head)
	// 2. The set, by one core.
	frame, errFrame := zstd.NewWriter(all, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	if err = errors.Join(err, errFrame); err == nil {
		err = errors.Join(set.Write(frame), frame.Close())
	}
	// 3. The checksum.
	if err == nil {
		_, _ = out.Write(binary.LittleEndian.AppendUint64(nil, hash.Sum64())) // Flush returns the error
		err = errors.Join(out.Flush(), file.Sync())
	}
	return errors.Join(err, file.Close())
}

// endingWriter fails when its context ends.
type endingWriter struct{ ctx context.Context }

func (w endingWriter) Write(p []byte) (int, error) { return len(p), w.ctx.Err() }

// endingReader fails when its context ends.
type endingReader struct {
	ctx context.Context
	in  io.Reader
}

func (r endingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// Read returns the set of the file and its position. It wraps [os.ErrNotExist] if there is none.
func (f ColumnFile) Read(ctx context.Context, limit int64) (*columns.Set, feed.Position, error) {
	set, at, err := f.read(ctx, limit)
	if err != nil {
		err = fmt.Errorf("read columns %s: %w", f.store.db.Path(columnFileName), err)
	}
	return set, at, err
}

func (f ColumnFile) read(ctx context.Context, limit int64) (*columns.Set, feed.Position, error) {
	s, path := f.store, f.store.db.Path(columnFileName)
	id, err := s.db.Value(rowColumns)
	if err != nil {
		return nil, feed.Position{}, err
	}
	// Check all bytes before any is read as a set.
	size, err := checkColumnFile(ctx, s.options.FS, path)
	if err != nil {
		return nil, feed.Position{}, err
	}
	file, err := s.options.FS.Open(path)
	if err != nil {
		return nil, feed.Position{}, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(io.LimitReader(endingReader{ctx, file}, size-xxhashBytes), 1<<16)
	head := make([]byte, len(columnFileFormat)+columnFileID+4)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, feed.Position{}, errors.Join(errColumnFile, err)
	}
	text := make([]byte, min(binary.BigEndian.Uint32(head[len(head)-4:]), maxPositionText))
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, feed.Position{}, errors.Join(errColumnFile, err)
	}
	if string(head[:len(head)-4]) != columnFileFormat+string(id) || len(id) != columnFileID {
		return nil, feed.Position{}, errColumnFile
	}
	at, err := feed.ParsePosition(string(text))
	if err != nil {
		return nil, feed.Position{}, err
	}
	frame, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, at, err
	}
	defer frame.Close()
	set, err := columns.Read(frame, limit)
	return set, at, err
}

const (
	xxhashBytes = 8
	// maxPositionText bounds the text of a position, which has some bytes for each member.
	maxPositionText = 1 << 20
)

// checkColumnFile compares a file with its checksum, and returns its size.
func checkColumnFile(ctx context.Context, fs vfs.FS, path string) (int64, error) {
	file, err := fs.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	hash := xxhash.New()
	if _, err := io.Copy(hash, io.LimitReader(endingReader{ctx, file}, info.Size()-xxhashBytes)); err != nil {
		return 0, err
	}
	var sum [xxhashBytes]byte
	if _, err := io.ReadFull(file, sum[:]); err != nil || binary.LittleEndian.Uint64(sum[:]) != hash.Sum64() {
		return 0, errors.Join(errColumnFile, err)
	}
	return info.Size(), nil
}
