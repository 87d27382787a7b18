// The check of a manifest before a database is opened.

package synced

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checkManifest compares a manifest with its synced length. It returns the number of the first log
// that Pebble will read.
func checkManifest(fs vfs.FS, path, base string) (firstLog uint64, err error) {
	lengths, err := readLengths(fs, path, base)
	if err != nil {
		return 0, err
	}
	promised := longest(lengths)
	m, err := readManifest(fs, path)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	if m.whole < promised {
		return 0, fmt.Errorf("%w: %s: whole records end at byte %d of %d, and %d were synced", pebble.ErrCorruption, path, m.whole, m.size, promised)
	}
	return m.firstLog, nil
}

// manifestState is what Pebble would read of a manifest.
type manifestState struct {
	whole    int64 // the end of the last record
	size     int64 // the length of the file
	firstLog uint64
}

// readManifest reads a manifest. If it is missing, the state is zero.
func readManifest(fs vfs.FS, path string) (m manifestState, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if oserror.IsNotExist(err) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	m.size = info.Size()
	return m, m.readRecords(f)
}

// readRecords reads the records of a manifest up to the first damaged one. The error is one of r.
func (m *manifestState) readRecords(r io.Reader) error {
	records := record.NewReader(r, 0)
	var edit bytes.Buffer
	for {
		edit.Reset()
		one, err := records.Next()
		if err == nil {
			_, err = io.Copy(&edit, one)
		}
		switch {
		case err == nil:
			m.whole = records.Offset()
			if log := editLog(edit.Bytes()); log != 0 {
				m.firstLog = log
			}
		case errors.Is(err, io.EOF), isEnd(err):
			return nil
		default:
			return err
		}
	}
}

// Tags of fields at the beginning of Pebble's version edit, which is a record of a manifest.
const (
	tagComparator = 1 // a string, in the first edit only
	tagLogNumber  = 2 // a uvarint
)

// editLog returns the number of the first log whose rows are not in tables, or 0 if the edit does
// not change it.
func editLog(edit []byte) uint64 {
	if len(edit) > 0 && edit[0] == tagComparator {
		length, n := binary.Uvarint(edit[1:])
		if n <= 0 || length > uint64(len(edit)-1-n) {
			return 0
		}
		edit = edit[1+n+int(length):]
	}
	if len(edit) == 0 || edit[0] != tagLogNumber {
		return 0
	}
	log, n := binary.Uvarint(edit[1:])
	if n <= 0 {
		return 0
	}
	return log
}

// isEnd reports whether Pebble takes an error for the end of a manifest.
func isEnd(err error) bool {
	return errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk) || errors.Is(err, record.ErrUnexpectedEOF)
}
