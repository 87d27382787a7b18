// Restore: a data directory from a backup.

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
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// restoreName is the directory for unpacked files in a data directory. They stay there until all
// are verified.
const restoreName = "restore.partial"

// maxJSON limits the header and the checksums of a backup. It is enough for some 500,000
// files.
const maxJSON = 64 << 20

// CreateDir makes dir a data directory by fill, which gets a directory to make it in: [Unpack] is one way,
// to open a store there another. dir must be missing or empty. At the end either the result of fill is
// in dir, or dir is as before. fill must leave everything verified and durable, and nothing open. After
// a crash, Into may be repeated; until then dir does not open.
func CreateDir(fs vfs.FS, dir string, fill func(work string) error) (err error) {
	// 1. Make and lock dir. If the restore fails, remove it again, but only if this call made it.
	_, err = fs.Stat(dir)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		err = directory.Make(fs, dir)
	}
	if err != nil {
		return err
	}
	lock, err := directory.Lock(fs, dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, lock.Close())
		if err != nil && made {
			// If a removal fails, the directory stays, and it does not open.
			_ = fs.Remove(fs.PathJoin(dir, directory.LockName))
			_ = fs.Remove(dir)
		}
	}()
	// 2. Remove leftovers of an interrupted restore. An error must leave no files either.
	work := fs.PathJoin(dir, restoreName)
	if err := clearRestore(fs, dir, work); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, clearRestore(fs, dir, work))
		} else {
			err = fs.RemoveAll(work)
		}
	}()
	if err := fs.MkdirAll(work, 0o755); err != nil {
		return err
	}
	// 3. Make work durable first and remove it last, because it marks files without a VERSION file
	// as a restore's.
	if err := directory.Sync(fs, dir); err != nil {
		return err
	}
	// 4. Make the files.
	if err := fill(work); err != nil {
		return err
	}
	if err := directory.MarkRestored(fs, work); err != nil {
		return err
	}
	// 5. Move the files. VERSION must be last, because dir is no data directory without it.
	for _, name := range []string{directory.StoreName, directory.VersionName} {
		if err := directory.Rename(fs, fs.PathJoin(work, name), fs.PathJoin(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Unpack makes dir, which must be empty, a data directory from the output of [Write]. All files are
// verified and durable when it returns.
func Unpack(ctx context.Context, fs vfs.FS, dir string, r io.Reader) error {
	if err := fs.MkdirAll(fs.PathJoin(dir, directory.StoreName), 0o755); err != nil {
		return err
	}
	return (&unpacker{ctx: ctx, fs: fs, dir: dir, in: tar.NewReader(r)}).unpack()
}

// clearRestore removes the leftovers of an interrupted restore from dir. It returns an error if
// dir holds any other file.
func clearRestore(fs vfs.FS, dir, work string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	// 1. Look for the mark of an interrupted restore.
	interrupted, versioned := false, false
	for _, name := range names {
		interrupted = interrupted || name == restoreName
		versioned = versioned || name == directory.VersionName
	}
	// 2. Reject dir if it has any other file, because nothing may be lost.
	for _, name := range names {
		switch {
		case name == directory.LockName, name == directory.LostFoundName:
		case interrupted && !versioned && (name == restoreName || name == directory.StoreName):
		default:
			return fmt.Errorf("%w: it is not empty: it holds %q", fault.ErrInvalid, name)
		}
	}
	if !interrupted {
		return nil
	}
	// 3. Remove the mark last, because a crash may come before.
	if err := fs.RemoveAll(fs.PathJoin(dir, directory.StoreName)); err != nil {
		return err
	}
	if err := directory.Sync(fs, dir); err != nil {
		return err
	}
	return fs.RemoveAll(work)
}

// unpacker reads a backup into a directory.
type unpacker struct {
	ctx  context.Context
	fs   vfs.FS
	dir  string
	in   *tar.Reader
	got  map[string]file
	sums checksums
}

func (u *unpacker) unpack() error {
	u.got = map[string]file{}
	var first header
	if err := u.json(headerName, &first); err != nil {
		return err
	}
	// 1. A backup of another format must not be read.
	if first.Format != format {
		return fmt.Errorf("%w: the backup has format %d, this program reads format %d", fault.ErrVersion, first.Format, format)
	}
	// 2. Unpack the files up to the checksums. If the checksums are missing, the backup is
	// incomplete.
	for done := false; !done; {
		entry, err := u.in.Next()
		if err != nil {
			return fault.Backup("it ends before its checksums: %w", err)
		}
		if entry.Typeflag != tar.TypeReg {
			return fault.Backup("%q is not a regular file", entry.Name)
		}
		if done = entry.Name == checksumsName; done {
			err = u.decode(&u.sums)
		} else {
			err = u.file(entry)
		}
		if err != nil {
			return err
		}
	}
	// 3. Nothing may follow the checksums, because it would be without one.
	if entry, err := u.in.Next(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("entry %q", entry.Name)
		}
		return fault.Backup("after its checksums: %w", err)
	}
	// 4. Compare all files with the checksums, then make the directories durable.
	if err := u.verify(); err != nil {
		return err
	}
	return errors.Join(directory.Sync(u.fs, u.fs.PathJoin(u.dir, directory.StoreName)), directory.Sync(u.fs, u.dir))
}

func (u *unpacker) json(name string, v any) error {
	entry, err := u.in.Next()
	if err != nil {
		return fault.Backup("%w", err)
	}
	if entry.Name != name {
		return fault.Backup("it begins with %q: it is no archive that trefoil backup wrote", entry.Name)
	}
	return u.decode(v)
}

func (u *unpacker) decode(v any) error {
	data, err := io.ReadAll(io.LimitReader(u.in, maxJSON))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fault.Backup("%w", err)
	}
	return nil
}

// backupPath reports whether a backup may have a file of this name: VERSION, or a file directly in
// store.
func backupPath(name string) bool {
	if name == directory.VersionName {
		return true
	}
	base, ok := strings.CutPrefix(name, directory.StoreName+"/")
	return ok && base != "" && base != "." && base != ".." && !strings.ContainsAny(base, "/\\\x00:")
}

// file unpacks one file.
func (u *unpacker) file(entry *tar.Header) (err error) {
	// 1. Reject names outside the two directories, and duplicates, because a backup may be forged.
	if !backupPath(entry.Name) {
		return fault.Backup("file name %q", entry.Name)
	}
	if _, twice := u.got[entry.Name]; twice {
		return fault.Backup("%q is there twice", entry.Name)
	}
	path := u.fs.PathJoin(u.dir, directory.VersionName)
	if base, ok := strings.CutPrefix(entry.Name, directory.StoreName+"/"); ok {
		path = u.fs.PathJoin(u.dir, directory.StoreName, base)
	}
	f, err := u.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// 2. Copy and sum. The error of the input means a damaged backup, the error of the output a
	// bad disk.
	sum := sha256.New()
	in := &inputErrors{r: interruptible{ctx: u.ctx, r: u.in}}
	n, err := io.Copy(io.MultiWriter(sum, f), in) // f may change its argument
	switch {
	case u.ctx.Err() != nil:
		return u.ctx.Err()
	case in.err != nil:
		return fault.Backup("%s: %w", entry.Name, in.err)
	case err != nil:
		return err
	}
	u.got[entry.Name] = file{entry.Name, n, hex.EncodeToString(sum.Sum(nil))}
	return f.Sync()
}

// inputErrors records the error of a reader, because a copy may also fail in the writer.
type inputErrors struct {
	r   io.Reader
	err error
}

func (i *inputErrors) Read(b []byte) (int, error) {
	n, err := i.r.Read(b)
	if err != nil && err != io.EOF {
		i.err = err
	}
	return n, err
}

// verify compares the files with the checksums.
func (u *unpacker) verify() error {
	for _, want := range u.sums.Files {
		got, ok := u.got[want.Name]
		if !ok {
			return fault.Backup("%q is missing", want.Name)
		}
		if got != want {
			return fault.Backup("%q has %d bytes with SHA-256 %s, not %d with %s", want.Name, got.Size, got.SHA256, want.Size, want.SHA256)
		}
		delete(u.got, want.Name)
	}
	for name := range u.got {
		return fault.Backup("%q has no checksum", name)
	}
	return nil
}
