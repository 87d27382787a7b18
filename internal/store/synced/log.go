// The check of a write-ahead log before a database is opened.

package synced

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A log is a sequence of blocks of 32 KiB. A block is a sequence of chunks, and zeros if no chunk
// fits at its end. A record is one chunk, or a first, some middle and a last one:
//
//	+------------+----------+--------+-------------+--------------------+------+
//	| checksum 4 | length 2 | type 1 | log number 4 | synced 8, type > 8 | data |   little-endian
//	+------------+----------+--------+-------------+--------------------+------+
//
// The checksum is over all bytes from the type. Types below 5 have no log number; logs do not have
// these any more. A log that was closed ends with an empty chunk of the next log's number. A file
// may be reused, so what follows may be chunks of an earlier log.
const (
	blockBytes = 32 << 10

	typeBytes    = 7  // the header up to the type
	numberBytes  = 11 // the header of types 5 to 8
	offsetBytes  = 19 // the header of types 9 to 12
	firstNumber  = 5  // the first type with a log number
	firstOffset  = 9  // the first type with a synced length
	typesEnd     = 13
	typesInGroup = 4 // full, first, middle, last
)

// checkLog compares a log with its synced length. A log that is missing has been removed.
func checkLog(fs vfs.FS, path, base string, number uint32) (err error) {
	lengths, err := readLengths(fs, path, base)
	if err != nil || len(lengths) == 0 {
		return err
	}
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if oserror.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	found, err := scanLog(f, number)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	promised := longest(lengths)
	// What remains may be the end mark of a closed log. No record fits in so few bytes.
	if promised-found.chunks < offsetBytes {
		return nil
	}
	return lostError(path, found, lengths, promised)
}

// lostError describes the lost bytes of a log.
func lostError(path string, found logEnd, lengths []int64, promised int64) error {
	syncs, least := 0, ""
	for _, length := range lengths {
		if length > found.chunks {
			syncs++
		}
	}
	if syncs == ringEntries {
		least = "at least "
	}
	return fmt.Errorf("%w: %s: %d acknowledged bytes are lost, of %s%d syncs: whole records end at byte %d, and %d were synced; "+
		"%d records before are whole. Restore a backup, or in a cluster let the machine join anew with an empty directory. "+
		"To go on without what is lost, on a machine alone, remove %s",
		pebble.ErrCorruption, path, promised-found.records, least, syncs, found.records, promised, found.count, path+suffix)
}

// logEnd is what Pebble would read of a log.
type logEnd struct {
	chunks  int64 // the end of the last chunk, and of the zeros behind it if its block ends there
	records int64 // the end of the last whole record
	count   int   // the number of whole records
}

// scanLog reads chunks as Pebble's record.Reader does, up to the first damaged one. It does not use
// that reader, because a sync may end amid a record: the writer may have written its first part
// only. The error is one of r.
func scanLog(r io.Reader, number uint32) (end logEnd, err error) {
	in := bufio.NewReaderSize(r, blockBytes)
	buf := make([]byte, blockBytes)
	partial := false // a record has begun
	for start := int64(0); ; start += blockBytes {
		n, err := io.ReadFull(in, buf)
		if err == io.EOF {
			return end, nil
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return end, err
		}
		whole := n == blockBytes
		for block := buf[:n]; ; {
			size, kind := parseChunk(block, number)
			if size == 0 {
				if !whole || !isPadding(block) {
					return end, nil
				}
				end.chunks = start + blockBytes
				break
			}
			block = block[size:]
			end.chunks = start + int64(n-len(block))
			// Pebble drops the parts of a record whose beginning is missing.
			begins, ends := kind == 0 || kind == 1, kind == 0 || kind == 3
			if begins || partial {
				partial = !ends
				if ends {
					end.records, end.count = end.chunks, end.count+1
				}
			}
		}
	}
}

// parseChunk returns the size of the chunk at the beginning of b, and its kind: 0 full, 1 first, 2
// middle, 3 last. The size is 0 if b does not begin with a whole chunk of the log.
func parseChunk(b []byte, number uint32) (size, kind int) {
	if len(b) < typeBytes {
		return 0, 0
	}
	length, encoding, header := int(binary.LittleEndian.Uint16(b[4:])), int(b[6]), numberBytes
	if encoding < firstNumber || encoding >= typesEnd {
		return 0, 0
	}
	if encoding >= firstOffset {
		header = offsetBytes
	}
	size = header + length
	if size > len(b) || binary.LittleEndian.Uint32(b[typeBytes:]) != number {
		return 0, 0
	}
	if chunkChecksum(b[typeBytes-1:size]) != binary.LittleEndian.Uint32(b) {
		return 0, 0
	}
	return size, (encoding - firstNumber) % typesInGroup
}

// chunkChecksum returns Pebble's checksum: CRC-32 (Castagnoli), rotated, plus a constant.
func chunkChecksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// isPadding reports whether the rest of a block has no room for a chunk, and Pebble skips it.
func isPadding(rest []byte) bool {
	if len(rest) >= offsetBytes {
		return false
	}
	if len(rest) < numberBytes { // only the header counts
		return len(rest) < typeBytes || bytes.Equal(rest[:typeBytes], make([]byte, typeBytes))
	}
	return bytes.Equal(rest, make([]byte, len(rest)))
}
