// The entries of a file beside a manifest or a log.

package synced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// entryBytes is the size of an entry in a .synced file.
const entryBytes = 12

// tailBytes limits the part of the file to read, from its end. A ring is not longer. Of a manifest
// this is enough because lengths only grow.
const tailBytes = ringEntries * entryBytes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of an entry for the file named base.
func checksum(base string, length []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(base), castagnoli), castagnoli, length)
}

// appendEntry appends an entry to b.
func appendEntry(b []byte, base string, length int64) []byte {
	n := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(length))
	return binary.LittleEndian.AppendUint32(b, checksum(base, b[n:]))
}

// parseEntries returns the lengths in valid entries.
func parseEntries(entries []byte, base string) (lengths []int64) {
	for ; len(entries) >= entryBytes; entries = entries[entryBytes:] {
		length := int64(binary.LittleEndian.Uint64(entries))
		if length > 0 && checksum(base, entries[:8]) == binary.LittleEndian.Uint32(entries[8:]) {
			lengths = append(lengths, length)
		}
	}
	return lengths
}

// longest returns the greatest length, or 0 if there are none.
func longest(lengths []int64) (length int64) {
	for _, n := range lengths {
		length = max(length, n)
	}
	return length
}

// readLengths returns the lengths of a file at its last syncs, in no order. There are none if
// nothing is known.
func readLengths(fs vfs.FS, path, base string) (lengths []int64, err error) {
	f, err := fs.Open(path + suffix)
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()/entryBytes*entryBytes-tailBytes)
	entries, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path+suffix, err)
	}
	return parseEntries(entries, base), nil
}
