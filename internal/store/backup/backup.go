// Checkpoints and backups of a data directory.

// Package backup copies the data directory of an open store: [Checkpoint] into another directory,
// [Write] into a tar. [Unpack] makes a data directory from the tar, and [CreateDir] makes one all or not at all.
package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// A backup is a tar of these entries, in this order:
//
//	trefoil-backup   header as JSON
//	VERSION          as in the data directory
//	store/NAME       the files of the database, each once
//	checksums        checksums as JSON: what a whole backup ends with
const (
	headerName    = "trefoil-backup"
	checksumsName = "checksums"
	format        = 1
)

type header struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
	// Position is that of the change feed at the moment of the copy.
	Position string `json:"position"`
}

type checksums struct {
	Files []file `json:"files"`
}

type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Checkpoint makes dir a copy of the data directory of db with the given UUID. dir must not exist.
func Checkpoint(ctx context.Context, db *database.Database, id directory.UUID, dir string) (err error) {
	fs := db.FS
	// 1. Reject a read-only store, because Pebble cannot copy it, and a directory that exists.
	if err := ctx.Err(); err != nil {
		return err
	}
	if db.ReadOnly {
		return fmt.Errorf("%w: Pebble makes checkpoints of databases that it can write", fault.ErrReadOnly)
	}
	if _, err := fs.Stat(dir); err == nil {
		return fmt.Errorf("%w: it exists", fault.ErrInvalid)
	}
	// 2. Make the copy under another name, because dir must be complete when it appears.
	work := dir + ".partial"
	if err := fs.RemoveAll(work); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, fs.RemoveAll(work))
		}
	}()
	if err := directory.Make(fs, work); err != nil {
		return err
	}
	if err := db.Checkpoint(fs.PathJoin(work, directory.StoreName), pebble.WithFlushedWAL()); err != nil {
		return err
	}
	// 3. Write VERSION last, then rename.
	if err := directory.WriteVersion(fs, work, id); err != nil {
		return err
	}
	return directory.Rename(fs, work, dir)
}

// Write writes a tar of the current data directory of db, whose UUID is id. version is the program's
// version. between must call copy while nothing changes db, and return the position of the change feed
// at that moment. [Unpack] reads the tar.
func Write(ctx context.Context, db *database.Database, id directory.UUID, version string, between func(copy func() error) (feed.Position, error), w io.Writer) (err error) {
	fs := db.FS
	// 1. Copy a checkpoint, because its files do not change.
	dir := db.Path(directory.TmpName, db.FileName("backup"))
	position, err := between(func() error { return Checkpoint(ctx, db, id, dir) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.RemoveAll(dir)) }()
	// 2. Write header, VERSION, files and checksums. The checksums must be last: they show that
	// the backup is whole.
	b := writer{ctx: ctx, db: db, tar: tar.NewWriter(w), now: time.Now().UTC()}
	if err := b.json(headerName, header{format, version, b.now, position.String()}); err != nil {
		return err
	}
	if err := b.file(fs.PathJoin(dir, directory.VersionName), directory.VersionName); err != nil {
		return err
	}
	names, err := fs.List(fs.PathJoin(dir, directory.StoreName))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := b.file(fs.PathJoin(dir, directory.StoreName, name), directory.StoreName+"/"+name); err != nil {
			return err
		}
	}
	if err := b.json(checksumsName, b.sums); err != nil {
		return err
	}
	return b.tar.Close()
}

// writer writes the entries of a backup.
type writer struct {
	ctx  context.Context
	db   *database.Database
	tar  *tar.Writer
	now  time.Time
	sums checksums
}

func (b *writer) begin(name string, size int64) error {
	return b.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: b.now.Truncate(time.Second), Format: tar.FormatPAX})
}

func (b *writer) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	if err := b.begin(name, int64(len(data))); err != nil {
		return err
	}
	_, err = b.tar.Write(data)
	return err
}

// file writes a file and records its checksum. The file must not change.
func (b *writer) file(path, name string) error {
	f, err := b.db.FS.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := b.begin(name, info.Size()); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(b.tar, sum), interruptible{b.ctx, b.db, io.LimitReader(f, info.Size())})
	if err == nil && n < info.Size() {
		err = fmt.Errorf("%s: %w", path, io.ErrUnexpectedEOF)
	}
	b.sums.Files = append(b.sums.Files, file{name, n, hex.EncodeToString(sum.Sum(nil))})
	return err
}

// interruptible is a reader that fails when a context or the store ends.
type interruptible struct {
	ctx context.Context
	db  *database.Database // nil if no store is open
	r   io.Reader
}

func (i interruptible) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	if i.db != nil && i.db.Closing() {
		return 0, fault.ErrClosed
	}
	return i.r.Read(b)
}
