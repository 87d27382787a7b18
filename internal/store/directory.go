// The data directory: its VERSION file and its lock.

package store

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// formatVersion is the version of the data directory that this program writes. Open rejects all
// others.
const formatVersion = 1

// Names in a data directory.
const (
	versionName    = "VERSION"
	versionNewName = "VERSION.new"
	lockName       = "LOCK"
	storeName      = "store"
	loadsName      = "loads"
	tmpName        = "tmp"
	asideName      = "aside"
	rejoinName     = "REJOIN"
	markerName     = "ASIDE" // exists only during a SetAside
	markerNewName  = "ASIDE.new"
	lostFoundName  = "lost+found"
)

// uuid is a version 4 UUID of RFC 9562.
type uuid [16]byte

func newUUID() uuid {
	var u uuid
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0F | 0x40
	u[8] = u[8]&0x3F | 0x80
	return u
}

func (u uuid) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func parseUUID(s string) (uuid, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(uuid{}) || uuid(b).String() != s {
		return uuid{}, fmt.Errorf("%q is not a UUID", s)
	}
	return uuid(b), nil
}

const (
	versionFormat = "trefoil data directory\nformat %d\nuuid %s\n"
	// checksumFormat is the last line: the CRC-32C of the lines before it.
	checksumFormat = "crc32c %08x\n"
)

// versionText returns the text of a VERSION file.
func versionText(id uuid) string {
	text := fmt.Sprintf(versionFormat, formatVersion, id)
	return text + checksumLine(text)
}

func checksumLine(text string) string {
	return fmt.Sprintf(checksumFormat, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseVersion reads the text of a VERSION file. Files of earlier releases have no checksum.
func parseVersion(text string) (id uuid, hasChecksum bool, err error) {
	lines := text
	if at := strings.LastIndex(text, "crc32c "); at >= 0 {
		lines, hasChecksum = text[:at], true
		if text[at:] != checksumLine(lines) {
			return uuid{}, true, fmt.Errorf("%w: the VERSION file fails its checksum, so the UUID in it may be another machine's: "+
				"put back the file from a copy of this directory, restore a backup, or, in a cluster, let the machine join anew: %q", ErrCorrupt, text)
		}
	}
	id, err = parseLines(lines)
	return id, hasChecksum, err
}

// parseLines reads the lines before the checksum.
func parseLines(text string) (uuid, error) {
	var format int
	var id string
	if n, _ := fmt.Sscanf(text, versionFormat, &format, &id); n == 0 {
		return uuid{}, fmt.Errorf("%w: its VERSION file is not one of trefoil's", ErrVersion)
	}
	if format != formatVersion {
		return uuid{}, fmt.Errorf("%w: it has format %d, this program has format %d: use the program that wrote it, or a newer one",
			ErrVersion, format, formatVersion)
	}
	u, err := parseUUID(id)
	if err != nil || text != fmt.Sprintf(versionFormat, format, u) {
		return uuid{}, fmt.Errorf("%w: VERSION file: %q", ErrCorrupt, text)
	}
	return u, nil
}

// lockDirectory locks dir for this process. Closing the result unlocks it.
func lockDirectory(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := fs.Lock(fs.PathJoin(dir, lockName))
	switch {
	case err == nil:
		return lock, nil
	case err == syscall.EAGAIN, err == syscall.EACCES: // from the lock itself: if the file cannot be made, it is an fs.PathError
		return nil, fmt.Errorf("%w: another process has %s open", ErrLocked, dir)
	case strings.Contains(err.Error(), "lock held by current process"): // Pebble has no sentinel for it
		return nil, fmt.Errorf("%w: this process has %s open already", ErrLocked, dir)
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}

// readVersion returns the UUID of the data directory dir, and whether it has a checksum. If dir
// has no VERSION file, the error is [os.ErrNotExist].
func readVersion(fs vfs.FS, dir string) (id uuid, hasChecksum bool, err error) {
	f, err := fs.Open(fs.PathJoin(dir, versionName))
	if err != nil {
		return uuid{}, false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return uuid{}, false, err
	}
	return parseVersion(string(text))
}

// writeVersion writes dir's VERSION file, as a whole or not at all.
func writeVersion(fs vfs.FS, dir string, id uuid) error {
	text := versionText(id)
	newPath := fs.PathJoin(dir, versionNewName)
	if err := WriteFile(fs, newPath, []byte(text)); err != nil {
		return err
	}
	if err := fs.Rename(newPath, fs.PathJoin(dir, versionName)); err != nil {
		return err
	}
	return SyncDirectory(fs, dir)
}

// checkUnversioned returns an error if dir holds more than the leftovers of an interrupted [Open].
// dir must have no VERSION file.
func checkUnversioned(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case lockName, versionNewName, storeName, asideName, rejoinName, markerNewName, lostFoundName:
		default:
			return fmt.Errorf("%w: it is not empty and has no VERSION file, but %q", ErrVersion, name)
		}
	}
	return nil
}

// WriteFile writes and syncs a file. The caller must sync the directory.
func WriteFile(fs vfs.FS, path string, data []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Clone(data)) // a file may change its argument
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncDirectory makes the names in dir durable.
func SyncDirectory(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// NewIdentity gives the data directory dir a new UUID. No process may have dir open. A restored
// copy needs a new UUID if it is to run beside its original. Two machines of one UUID would
// replace each other.
func NewIdentity(dir string) (err error) {
	fs := vfs.Default
	lock, err := lockDirectory(fs, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, _, err := readVersion(fs, dir); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s has no VERSION file", ErrVersion, dir)
		}
		return fmt.Errorf("%s: %w", dir, err)
	}
	return writeVersion(fs, dir, newUUID())
}
