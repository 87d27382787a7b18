// The data directory: its VERSION file and its lock.

package directory

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// formatVersion is the version of the data directory that this program writes. Opening rejects all
// others.
const formatVersion = 1

// Names in a data directory.
const (
	VersionName    = "VERSION"
	versionNewName = VersionName + atomicfile.Suffix
	LockName       = "LOCK"
	StoreName      = "store"
	LoadsName      = "loads"
	TmpName        = "tmp"
	AsideName      = "aside"
	rejoinName     = "REJOIN"
	markerName     = "ASIDE" // exists only during a SetAside
	markerNewName  = markerName + atomicfile.Suffix
	LostFoundName  = "lost+found"
)

// UUID is a version 4 UUID of RFC 9562.
type UUID [16]byte

func NewUUID() UUID {
	var u UUID
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0F | 0x40
	u[8] = u[8]&0x3F | 0x80
	return u
}

func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func parseUUID(s string) (UUID, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(UUID{}) || UUID(b).String() != s {
		return UUID{}, fmt.Errorf("%q is not a UUID", s)
	}
	return UUID(b), nil
}

const (
	versionFormat = "trefoil data directory\nformat %d\nuuid %s\n"
	// checksumFormat is the last line: the CRC-32C of the lines before it.
	checksumFormat = "crc32c %08x\n"
)

// versionText returns the text of a VERSION file.
func versionText(id UUID) string {
	text := fmt.Sprintf(versionFormat, formatVersion, id)
	return text + checksumLine(text)
}

func checksumLine(text string) string {
	return fmt.Sprintf(checksumFormat, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseVersion reads the text of a VERSION file.
func parseVersion(text string) (UUID, error) {
	lines, sum := text, ""
	if at := strings.LastIndex(text, "crc32c "); at >= 0 {
		lines, sum = text[:at], text[at:]
	}
	// A file of another format may have no checksum, and its error must name the format.
	id, err := parseLines(lines)
	if (sum != "" || !errors.Is(err, fault.ErrVersion)) && sum != checksumLine(lines) {
		err = fmt.Errorf("%w: the VERSION file fails its checksum, so the UUID in it may be another machine's: "+
			"put back the file from a copy of this directory, restore a backup, or, in a cluster, let the machine join anew: %q", fault.ErrCorrupt, text)
	}
	return id, err
}

// parseLines reads the lines before the checksum.
func parseLines(text string) (UUID, error) {
	var format int
	var id string
	if n, _ := fmt.Sscanf(text, versionFormat, &format, &id); n == 0 {
		return UUID{}, fmt.Errorf("%w: its VERSION file is not one of trefoil's", fault.ErrVersion)
	}
	if format != formatVersion {
		return UUID{}, fmt.Errorf("%w: it has format %d, this program has format %d: use the program that wrote it, or a newer one",
			fault.ErrVersion, format, formatVersion)
	}
	u, err := parseUUID(id)
	if err != nil || text != fmt.Sprintf(versionFormat, format, u) {
		return UUID{}, fmt.Errorf("%w: VERSION file: %q", fault.ErrCorrupt, text)
	}
	return u, nil
}

// Lock locks dir for this process. Closing the result unlocks it.
func Lock(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := fs.Lock(fs.PathJoin(dir, LockName))
	switch {
	case err == nil:
		return lock, nil
	case err == syscall.EAGAIN, err == syscall.EACCES: // from the lock itself: if the file cannot be made, it is an fs.PathError
		return nil, fmt.Errorf("%w: another process has %s open", fault.ErrLocked, dir)
	case strings.Contains(err.Error(), "lock held by current process"): // Pebble has no sentinel for it
		return nil, fmt.Errorf("%w: this process has %s open already", fault.ErrLocked, dir)
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}

// ReadVersion returns the UUID of the data directory dir. If dir has no VERSION file, the error is
// [os.ErrNotExist].
func ReadVersion(fs vfs.FS, dir string) (UUID, error) {
	f, err := fs.Open(fs.PathJoin(dir, VersionName))
	if err != nil {
		return UUID{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return UUID{}, err
	}
	return parseVersion(string(text))
}

// WriteVersion writes dir's VERSION file, as a whole or not at all.
func WriteVersion(fs vfs.FS, dir string, id UUID) error {
	return Replace(fs, fs.PathJoin(dir, VersionName), []byte(versionText(id)))
}

// CheckNew returns an error if dir holds more than the leftovers of an interrupted opening.
// dir must have no VERSION file.
func CheckNew(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case LockName, versionNewName, StoreName, AsideName, rejoinName, rejoinName + atomicfile.Suffix, markerNewName, LostFoundName:
		default:
			return fmt.Errorf("%w: it is not empty and has no VERSION file, but %q", fault.ErrVersion, name)
		}
	}
	return nil
}

// restoredPath is the path of an empty file in the database of a restored data directory, until the
// directory is opened for writing.
func restoredPath(fs vfs.FS, dir string) string { return fs.PathJoin(dir, StoreName, "RESTORED") }

// MarkRestored records durably that dir was restored from a backup.
func MarkRestored(fs vfs.FS, dir string) error {
	if err := WriteFile(fs, restoredPath(fs, dir), nil); err != nil {
		return err
	}
	return Sync(fs, fs.PathJoin(dir, StoreName))
}

// IsRestored reports whether dir has the mark of MarkRestored.
func IsRestored(fs vfs.FS, dir string) (bool, error) {
	_, err := fs.Stat(restoredPath(fs, dir))
	if oserror.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}

// UnmarkRestored removes the mark.
func UnmarkRestored(fs vfs.FS, dir string) error {
	if err := fs.Remove(restoredPath(fs, dir)); err != nil {
		return err
	}
	return Sync(fs, fs.PathJoin(dir, StoreName))
}

// NewIdentity gives the data directory dir a new UUID. No process may have dir open. A restored
// copy needs a new UUID if it is to run beside its original. Two machines of one UUID would
// replace each other.
func NewIdentity(dir string) (err error) {
	fs := vfs.Default
	lock, err := Lock(fs, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := ReadVersion(fs, dir); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s has no VERSION file", fault.ErrVersion, dir)
		}
		return fmt.Errorf("%s: %w", dir, err)
	}
	return WriteVersion(fs, dir, NewUUID())
}
