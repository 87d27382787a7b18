// Setting aside: the directory of an excluded machine becomes that of a new one.

package directory

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// SetAside makes the data directory dir the directory of a new, empty machine. No process may have
// dir open. The new machine joins the cluster at these member addresses (see [ReadRejoin]). The old
// contents move into a directory below aside/, and SetAside returns its path. They never enter the
// cluster again by themselves, because the cluster has the same rows or newer ones. The operator
// deletes them, or searches them for rows of lost ranges. If fs is nil, it is the disk.
//
// If SetAside is interrupted, the next opening of dir completes it.
func SetAside(fs vfs.FS, dir string, addresses []string) (kept string, err error) {
	if fs == nil {
		fs = vfs.Default
	}
	lock, err := Lock(fs, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// If an earlier call was interrupted, complete it and do nothing else.
	if m, ok, err := readMarker(fs, dir); err != nil || ok {
		if err == nil {
			err = finishAside(fs, dir)
		}
		return fs.PathJoin(dir, AsideName, m.target), err
	}
	if _, err := fs.Stat(fs.PathJoin(dir, VersionName)); err != nil {
		return "", fmt.Errorf("%w: %s has no VERSION file: %w", fault.ErrVersion, dir, err)
	}
	target, err := newAside(fs, dir)
	if err != nil {
		return "", err
	}
	if err := writeMarker(fs, dir, marker{target, addresses}); err != nil {
		return "", err
	}
	return fs.PathJoin(dir, AsideName, target), finishAside(fs, dir)
}

// marker is the content of the file ASIDE. The first line is the name of the target below aside/;
// each further line is an address of a member. When the marker is durable, and until it is
// removed, the directory belongs to no machine.
type marker struct {
	target    string
	addresses []string
}

func writeMarker(fs vfs.FS, dir string, m marker) error {
	text := m.target + "\n" + strings.Join(m.addresses, "\n") + "\n"
	return Replace(fs, fs.PathJoin(dir, markerName), []byte(text))
}

// readMarker returns the marker in dir. ok is false if there is none.
func readMarker(fs vfs.FS, dir string) (m marker, ok bool, err error) {
	text, err := readSmall(fs, fs.PathJoin(dir, markerName))
	if oserror.IsNotExist(err) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m.target, text, _ = strings.Cut(text, "\n")
	if n, err := strconv.Atoi(m.target); err != nil || n < 1 {
		return m, false, fmt.Errorf("%w: %s: %.40q is no directory of aside/", fault.ErrCorrupt, markerName, m.target)
	}
	m.addresses = strings.Fields(text)
	return m, true, nil
}

// finishAside makes the moves of the marker in dir, if it has one. A power cut may follow every
// step. Therefore the marker goes last, when all others are durable, and each step may be
// repeated.
func finishAside(fs vfs.FS, dir string) error {
	m, ok, err := readMarker(fs, dir)
	if err != nil || !ok {
		return err
	}
	// 1. Write REJOIN, because without it the machine would start alone.
	if err := WriteRejoin(fs, dir, m.addresses); err != nil {
		return err
	}
	// 2. Make the target durable before anything moves into it.
	kept := fs.PathJoin(dir, AsideName, m.target)
	if err := fs.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	if err := errors.Join(Sync(fs, dir), Sync(fs, fs.PathJoin(dir, AsideName))); err != nil {
		return err
	}
	// 3. Move. The target must be durable before the source directory is.
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case AsideName, rejoinName, LockName, markerName, LostFoundName:
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
	if err := errors.Join(Sync(fs, kept), Sync(fs, dir)); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, markerName)); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	return Sync(fs, dir)
}

// CompleteAside completes an interrupted [SetAside] in dir. dir must be locked and not open yet. If
// readOnly is set, it returns an error instead.
func CompleteAside(fs vfs.FS, dir string, readOnly bool) error {
	if !readOnly {
		return finishAside(fs, dir)
	}
	_, ok, err := readMarker(fs, dir)
	if err == nil && ok {
		err = fmt.Errorf("%w: its data is being set aside, which was interrupted: start its node once, or read what is in %s",
			fault.ErrVersion, fs.PathJoin(dir, AsideName))
	}
	return err
}

// freeName returns a path in kept for name. If an interrupted move has left a file of that name,
// it is name.2 and so on.
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

// newAside returns the name of the first unused directory below aside/.
func newAside(fs vfs.FS, dir string) (string, error) {
	for i := 1; ; i++ {
		name := strconv.Itoa(i)
		_, err := fs.Stat(fs.PathJoin(dir, AsideName, name))
		if oserror.IsNotExist(err) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// WriteRejoin writes into the data directory dir the addresses of members. Its machine must join
// there when it starts again.
func WriteRejoin(fs vfs.FS, dir string, addresses []string) error {
	return Replace(fs, fs.PathJoin(dir, rejoinName), []byte(strings.Join(addresses, "\n")+"\n"))
}

// RemoveRejoin removes these addresses, because the machine is a member now.
func RemoveRejoin(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, rejoinName))
	if oserror.IsNotExist(err) {
		return nil
	}
	return err
}

// ReadRejoin returns the addresses of [WriteRejoin] or [SetAside] in dir. It returns none if the machine
// has become a member since.
func ReadRejoin(fs vfs.FS, dir string) ([]string, error) {
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
