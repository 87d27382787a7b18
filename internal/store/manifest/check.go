// The check of a manifest before a database is opened.

package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// entryBytes is the size of an entry in a .synced file.
const entryBytes = 12

// tailBytes limits the part of the file to read, from its end. This is enough because lengths only
// grow.
const tailBytes = 4096 * entryBytes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of an entry for the manifest named base.
func checksum(base string, length []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(base), castagnoli), castagnoli, length)
}

// appendEntry appends an entry to b.
func appendEntry(b []byte, base string, length int64) []byte {
	n := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(length))
	return binary.LittleEndian.AppendUint32(b, checksum(base, b[n:]))
}

// longest returns the greatest length in valid entries, or 0 if there are none.
func longest(entries []byte, base string) int64 {
	var length int64
	for ; len(entries) >= entryBytes; entries = entries[entryBytes:] {
		if checksum(base, entries[:8]) == binary.LittleEndian.Uint32(entries[8:]) {
			length = max(length, int64(binary.LittleEndian.Uint64(entries)))
		}
	}
	return length
}

// Check compares the manifest of the database in dir with its synced length. If the records end
// before it, Check returns an error that wraps [pebble.ErrCorruption] and names the manifest. It
// changes nothing. A directory without a database is valid. Check must run before the database is
// opened, because opening deletes tables.
func Check(fs vfs.FS, dir string) error {
	base, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if oserror.IsNotExist(err) || err == nil && base == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the manifest of %s: %w", dir, err)
	}
	path := fs.PathJoin(dir, base)
	promised, err := readPromise(fs, path, base)
	if err != nil || promised == 0 {
		return err
	}
	whole, size, err := measure(fs, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if whole < promised {
		return fmt.Errorf("%w: %s: whole records end at byte %d of %d, and %d were synced", pebble.ErrCorruption, path, whole, size, promised)
	}
	return nil
}

// readPromise returns the length of a manifest at its last sync, or 0 if it is unknown.
func readPromise(fs vfs.FS, path, base string) (length int64, err error) {
	f, err := fs.Open(path + suffix)
	if oserror.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	from := max(0, info.Size()/entryBytes*entryBytes-tailBytes)
	entries, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path+suffix, err)
	}
	return longest(entries, base), nil
}

// measure returns the end of the last record that Pebble would read, and the length of the
// manifest. If the manifest is missing, both are 0.
func measure(fs vfs.FS, path string) (whole, size int64, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if oserror.IsNotExist(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	whole, err = measureRecords(f)
	return whole, info.Size(), err
}

// measureRecords returns the end of the last whole record. The error is one of r.
func measureRecords(r io.Reader) (whole int64, err error) {
	records := record.NewReader(r, 0)
	for {
		one, err := records.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, one)
		}
		switch {
		case err == nil:
			whole = records.Offset()
		case errors.Is(err, io.EOF), isEnd(err):
			return whole, nil
		default:
			return whole, err
		}
	}
}

// isEnd reports whether Pebble takes an error for the end of a manifest.
func isEnd(err error) bool {
	return errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk) || errors.Is(err, record.ErrUnexpectedEOF)
}
