// Durable replacement of files.

// Package atomicfile replaces files durably. After a stop at any moment a file is the old one or the
// new one, and after Replace has returned it is the new one.
//
// A file is written under another name, synced, and renamed. Then its directory is synced, because
// a loss of power may otherwise undo the rename.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Suffix is the suffix of the other name. A stop may leave such a file; the next Replace overwrites it.
const Suffix = ".new"

// File is a new file.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// FS is a file system.
type FS interface {
	// Create makes an empty file. A file of this name is removed first.
	Create(path string, mode fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes the names in the directory of path durable.
	SyncDir(path string) error
}

// OS is the file system of the operating system.
var OS FS = osFS{}

// Replace makes path a file with what write writes. If write fails, path is unchanged. Two calls
// for one path must take turns.
func Replace(fs FS, path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := fs.Create(path+Suffix, mode)
	if err != nil {
		return err
	}
	// The data must be durable before the rename, because a stop could otherwise leave a short file.
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fs.Rename(path+Suffix, path)
	}
	if err != nil {
		return errors.Join(err, fs.Remove(path+Suffix))
	}
	return fs.SyncDir(path)
}

// Write is Replace on the file system of the operating system, with data.
func Write(path string, mode fs.FileMode, data []byte) error {
	return Replace(OS, path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteNew makes path a new file with data. If path exists, it returns [fs.ErrExist]. After a stop
// path may be short.
func WriteNew(path string, mode fs.FileMode, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return OS.SyncDir(path)
}

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it cannot sync directories
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFS struct{}

func (osFS) Create(path string, mode fs.FileMode) (File, error) {
	// A left file may have another mode, and a link may lead elsewhere.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(path string) error     { return os.Remove(path) }
func (osFS) SyncDir(path string) error    { return SyncDir(filepath.Dir(path)) }
