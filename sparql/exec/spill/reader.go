// How temporary files are read.

package spill

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// RecordReader reads a finished file. Any number may read one file.
type RecordReader struct {
	Record
	file   *RecordFile
	at     int64 // of the next block
	given  int64
	block  []byte // the rest of one; its bytes are never written to again
	offset int64  // of the block, for errors
}

// NewReader returns a reader of the file. The file must be finished.
func (f *RecordFile) NewReader() *RecordReader {
	return &RecordReader{file: f, Record: Record{Row: make([]string, f.fields)}}
}

// Next reads a record. The row is valid until the next one; its cells stay.
func (r *RecordReader) Next() (bool, error) {
	// 1. Load the next block. At the end all records must have been given, or the file is
	// damaged.
	if len(r.block) == 0 {
		if r.at == r.file.bytes {
			if r.given != r.file.Records {
				return false, r.damaged("records are missing")
			}
			return false, nil
		}
		if err := r.load(); err != nil {
			return false, err
		}
	}
	// 2. Decode a record. Its cells are views of the block.
	var ok [3]bool
	r.A, ok[0] = r.uvarint()
	r.B, ok[1] = r.uvarint()
	r.Key, ok[2] = r.text()
	if !ok[0] || !ok[1] || !ok[2] {
		return false, r.damaged("a record ends too early")
	}
	for i := range r.Row {
		cell, ok := r.text()
		if !ok {
			return false, r.damaged("a record ends too early")
		}
		r.Row[i] = cell
	}
	r.given++
	return true, nil
}

func (r *RecordReader) load() error {
	if err := r.file.scratch.check(); err != nil {
		return err
	}
	r.offset = r.at
	var head [blockHeader]byte
	if err := r.readAt(head[:]); err != nil {
		return err
	}
	payload := int(binary.LittleEndian.Uint32(head[:]))
	if payload == 0 || payload > r.file.largest {
		return r.damaged("the length of a block is wrong")
	}
	if err := r.file.reading(payload); err != nil {
		return err
	}
	block := make([]byte, payload)
	if err := r.readAt(block); err != nil {
		return err
	}
	if crc32.Checksum(block, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return r.damaged("the checksum of a block is wrong")
	}
	r.block = block
	return nil
}

func (r *RecordReader) readAt(b []byte) error {
	n, err := r.file.file.ReadAt(b, r.at)
	if n < len(b) {
		if err == nil || err == io.EOF {
			return r.damaged("the file is too short")
		}
		return fmt.Errorf("%s: reading a %w: %w", r.file.holder.Name, ErrFile, err)
	}
	r.at += int64(n)
	return nil
}

func (r *RecordReader) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(r.block)
	if n <= 0 {
		return 0, false
	}
	r.block = r.block[n:]
	return v, true
}

func (r *RecordReader) text() (string, bool) {
	n, ok := r.uvarint()
	if !ok || n > uint64(len(r.block)) {
		return "", false
	}
	text := solution.StringOf(r.block[:n])
	r.block = r.block[n:]
	return text, true
}

func (r *RecordReader) damaged(why string) error {
	return fmt.Errorf("%s: a %w was changed: %s, in the block at byte %d", r.file.holder.Name, ErrFile, why, r.offset)
}
