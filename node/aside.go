// Setting aside: the directory of an excluded machine becomes that of a new one.

package node

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// SetAside makes the data directory dir, which no process has open, that of a new
// machine, without data, which is to join the cluster whose members are at these
// addresses (see [Rejoin]). What dir held goes into another directory below its
// aside/, whose path is returned. Nothing of it enters the cluster again by itself:
// the cluster has the same rows on other machines, and newer ones. The operator
// deletes it, or looks there for rows of ranges that were lost. fs nil is the disk.
//
// If it is interrupted once it has begun, the next [Open] completes it.
func SetAside(fs vfs.FS, dir string, addresses []string) (kept string, err error) {
	if fs == nil {
		fs = vfs.Default
	}
	lock, err := lockDirectory(fs, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// An earlier one may have been interrupted. Then it is completed, and that is all.
	if m, ok, err := readMarker(fs, dir); err != nil || ok {
		if err == nil {
			err = finishAside(fs, dir)
		}
		return fs.PathJoin(dir, asideName, m.target), err
	}
	if _, err := fs.Stat(fs.PathJoin(dir, versionName)); err != nil {
		return "", fmt.Errorf("%w: %s has no VERSION file: %w", ErrVersion, dir, err)
	}
	target, err := newAside(fs, dir)
	if err != nil {
		return "", err
	}
	if err := writeMarker(fs, dir, marker{target, addresses}); err != nil {
		return "", err
	}
	return fs.PathJoin(dir, asideName, target), finishAside(fs, dir)
}

// marker is what ASIDE holds while a directory is set aside: the first line is the
// name of the target below aside/, each further line an address to join at. From the
// moment at which it is durable until it is removed, the directory belongs to nobody.
type marker struct {
	target    string
	addresses []string
}

func writeMarker(fs vfs.FS, dir string, m marker) error {
	path, newPath := fs.PathJoin(dir, markerName), fs.PathJoin(dir, markerNewName)
	text := m.target + "\n" + strings.Join(m.addresses, "\n") + "\n"
	if err := writeFile(fs, newPath, []byte(text)); err != nil {
		return err
	}
	if err := fs.Rename(newPath, path); err != nil {
		return err
	}
	return syncDirectory(fs, dir)
}

// readMarker returns the marker in dir; ok is false if there is none.
func readMarker(fs vfs.FS, dir string) (m marker, ok bool, err error) {
	text, err := readSmall(fs, fs.PathJoin(dir, markerName))
	if oserror.IsNotExist(err) {
		m.target, ok, err = markerless(fs, dir)
		if ok && err == nil {
			m.addresses, err = Rejoin(fs, dir)
		}
		return m, ok, err
	}
	if err != nil {
		return m, false, err
	}
	m.target, text, _ = strings.Cut(text, "\n")
	if n, err := strconv.Atoi(m.target); err != nil || n < 1 {
		return m, false, fmt.Errorf("%w: %s: %.40q is no directory of aside/", ErrCorrupt, markerName, m.target)
	}
	m.addresses = strings.Fields(text)
	return m, true, nil
}

// markerless returns the target of a move that a release without the marker began,
// and that was interrupted after the store had gone. Such a directory has a word of
// whom to join, a VERSION file and no store.
func markerless(fs vfs.FS, dir string) (target string, ok bool, err error) {
	for name, wanted := range map[string]bool{rejoinName: true, versionName: true, asideName: true, storeName: false} {
		_, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil && !oserror.IsNotExist(err) {
			return "", false, err
		}
		if (err == nil) != wanted {
			return "", false, nil
		}
	}
	names, err := fs.List(fs.PathJoin(dir, asideName))
	if err != nil {
		return "", false, err
	}
	newest := 0
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			newest = max(newest, n)
		}
	}
	return strconv.Itoa(newest), newest > 0, nil
}

// finishAside moves what the marker in dir says that is to be moved, if there is one.
// Every step may be the last before a power cut: the marker goes when all others are
// durable, and each step can be repeated.
func finishAside(fs vfs.FS, dir string) error {
	m, ok, err := readMarker(fs, dir)
	if err != nil || !ok {
		return err
	}
	// 1. The word of whom to join, without which the machine would come up alone.
	if err := LeaveWord(fs, dir, m.addresses); err != nil {
		return err
	}
	// 2. The target, durably, before anything is moved into it.
	kept := fs.PathJoin(dir, asideName, m.target)
	if err := fs.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	if err := errors.Join(syncDirectory(fs, dir), syncDirectory(fs, fs.PathJoin(dir, asideName))); err != nil {
		return err
	}
	// 3. The moves. What was moved is to be found in the target before it is gone here.
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case asideName, rejoinName, lockName, markerName, lostFoundName:
			continue
		}
		to, err := freeName(fs, kept, name)
		if err != nil {
			return err
		}
		if err := fs.Rename(fs.PathJoin(dir, name), to); err != nil {
			return err
		}
	}
	if err := errors.Join(syncDirectory(fs, kept), syncDirectory(fs, dir)); err != nil {
		return err
	}
	// 4. The marker.
	if err := fs.Remove(fs.PathJoin(dir, markerName)); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	return syncDirectory(fs, dir)
}

// checkAside completes a [SetAside] that was interrupted, before the directory, which
// is locked, is opened.
func (s *Store) checkAside() error {
	if !s.options.ReadOnly {
		return finishAside(s.options.FS, s.dir)
	}
	_, ok, err := readMarker(s.options.FS, s.dir)
	if err == nil && ok {
		err = fmt.Errorf("%w: its data is being set aside, which was interrupted: start its node once, or read what is in %s",
			ErrVersion, s.path(asideName))
	}
	return err
}

// freeName returns a path in the directory kept for what is called name: that, or
// name.2 and so on if an interrupted move has left something of that name there.
func freeName(fs vfs.FS, kept, name string) (string, error) {
	path := fs.PathJoin(kept, name)
	for i := 2; ; i++ {
		_, err := fs.Stat(path)
		if oserror.IsNotExist(err) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		path = fs.PathJoin(kept, fmt.Sprintf("%s.%d", name, i))
	}
}

// newAside returns the name of the first directory below aside/ that is not there yet.
func newAside(fs vfs.FS, dir string) (string, error) {
	for i := 1; ; i++ {
		name := strconv.Itoa(i)
		_, err := fs.Stat(fs.PathJoin(dir, asideName, name))
		if oserror.IsNotExist(err) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// LeaveWord writes into the data directory dir whom its machine is to join when it
// is started again: the members at these addresses.
func LeaveWord(fs vfs.FS, dir string, addresses []string) error {
	if err := writeFile(fs, fs.PathJoin(dir, rejoinName), []byte(strings.Join(addresses, "\n")+"\n")); err != nil {
		return err
	}
	return syncDirectory(fs, dir)
}

// Joined removes that word: the machine is a member.
func Joined(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, rejoinName))
	if oserror.IsNotExist(err) {
		return nil
	}
	return err
}

// Rejoin returns the addresses that [LeaveWord] or [SetAside] has left in dir; none
// where the machine is a member since.
func Rejoin(fs vfs.FS, dir string) ([]string, error) {
	text, err := readSmall(fs, fs.PathJoin(dir, rejoinName))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	return strings.Fields(text), err
}

// readSmall returns the text of a small file.
func readSmall(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(b), errors.Join(err, f.Close())
}
