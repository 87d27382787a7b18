// Checkpoints and backups of a data directory.

package store

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

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// A backup is a tar of these entries, in this order:
//
//	trefoil-backup   backupHeader as JSON
//	VERSION          as in the data directory
//	store/NAME       the files of the database, each once
//	checksums        backupChecksums as JSON: what a whole backup ends with
const (
	backupHeaderName    = "trefoil-backup"
	backupChecksumsName = "checksums"
	backupFormat        = 1
)

type backupHeader struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
}

type backupChecksums struct {
	Files []backupFile `json:"files"`
}

type backupFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Checkpoint makes dir a copy of the current data directory, with the same UUID (see
// [NewIdentity]). dir must not exist. Reads and writes continue. If dir is on the same file
// system, the tables are hard links and take no time and no space.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if err := s.db.Begin(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer s.db.End()
	return fault.Wrap("checkpoint "+dir, s.checkpoint(ctx, dir))
}

func (s *Store) checkpoint(ctx context.Context, dir string) (err error) {
	fs := s.options.FS
	// 1. Reject a read-only store, because Pebble cannot copy it, and a directory that exists.
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		return fmt.Errorf("%w: Pebble makes checkpoints of databases that it can write", ErrReadOnly)
	}
	if _, err := fs.Stat(dir); err == nil {
		return fmt.Errorf("%w: it exists", ErrInvalid)
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
	if err := s.db.Checkpoint(fs.PathJoin(work, directory.StoreName), pebble.WithFlushedWAL()); err != nil {
		return err
	}
	// 3. Write VERSION last, then rename.
	if err := directory.WriteVersion(fs, work, s.id); err != nil {
		return err
	}
	if err := fs.Rename(work, dir); err != nil {
		return err
	}
	return directory.Sync(fs, fs.PathDir(dir))
}

// Backup writes a tar of the current data directory; reads and writes continue. [Restore] reads
// it. The tables of that moment stay on disk until Backup returns.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.db.Begin(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer s.db.End()
	return fault.Wrap("backup", s.backup(ctx, w))
}

func (s *Store) backup(ctx context.Context, w io.Writer) (err error) {
	fs := s.options.FS
	// 1. Copy a checkpoint, because its files do not change.
	dir := s.db.Path(directory.TmpName, s.db.FileName("backup"))
	if err := s.checkpoint(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.RemoveAll(dir)) }()
	// 2. Write header, VERSION, files and checksums. The checksums must be last: they show that
	// the backup is whole.
	b := backupWriter{ctx: ctx, store: s, tar: tar.NewWriter(w), now: time.Now().UTC().Truncate(time.Second)}
	if err := b.json(backupHeaderName, backupHeader{backupFormat, s.options.Version, b.now}); err != nil {
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
	if err := b.json(backupChecksumsName, b.sums); err != nil {
		return err
	}
	return b.tar.Close()
}

// backupWriter writes the entries of a backup.
type backupWriter struct {
	ctx   context.Context
	store *Store
	tar   *tar.Writer
	now   time.Time
	sums  backupChecksums
}

func (b *backupWriter) header(name string, size int64) error {
	return b.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: b.now, Format: tar.FormatPAX})
}

func (b *backupWriter) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	if err := b.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err = b.tar.Write(data)
	return err
}

// file writes a file and records its checksum. The file must not change.
func (b *backupWriter) file(path, name string) error {
	f, err := b.store.options.FS.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := b.header(name, info.Size()); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(b.tar, sum), interruptible{b.ctx, b.store.db, io.LimitReader(f, info.Size())})
	if err == nil && n < info.Size() {
		err = fmt.Errorf("%s: %w", path, io.ErrUnexpectedEOF)
	}
	b.sums.Files = append(b.sums.Files, backupFile{name, n, hex.EncodeToString(sum.Sum(nil))})
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
		return 0, ErrClosed
	}
	return i.r.Read(b)
}
