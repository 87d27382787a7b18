package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The format of temporary files. A file is blocks, one after the other:
//
//	4 bytes  length of the payload, little-endian
//	4 bytes  CRC-32C of the payload
//	payload  records, whole ones
//
// A record is two numbers, a key and the cells of a row, as many in each record of
// a file:
//
//	uvarint a | uvarint b | uvarint length, bytes of key | (uvarint length, bytes) of each cell
//
// How many blocks and records a file has is known to the query that wrote it, and
// compared as it is read: a short or changed file is an error.

// DefaultSpillBytes is what the temporary files of a query may take where
// [Options.SpillBytes] is 0.
const DefaultSpillBytes = 16 << 30

// fan is how many files an operator divides its rows into, and merges at a time.
const fan = 16

const blockHeader = 8

// errScratch is what errors of temporary files wrap.
var errScratch = errors.New("temporary file")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// scratch makes the temporary files of a query.
type scratch struct {
	spill       Spill
	used, limit int64 // bytes of the files that there are
	block       int   // about the bytes of a block
	buffers     holder
	check       func() error // asked for each block
	open        map[*rowFile]struct{}
}

func newScratch(opts Options, a *account, check func() error) scratch {
	limit := opts.SpillBytes
	if limit == 0 {
		limit = DefaultSpillBytes
	}
	return scratch{
		spill: opts.Spill, limit: limit, check: check, open: map[*rowFile]struct{}{},
		buffers: holder{account: a, name: "temporary files"},
		block:   int(min(max(opts.Memory/1024, 512), 64<<10)),
	}
}

// closeAll removes what an operator left.
func (s *scratch) closeAll() {
	for f := range s.open {
		f.close()
	}
}

// record is what a file holds for a row.
type record struct {
	a, b uint64
	key  string
	row  []string
}

// rowFile is a temporary file of records, which are first added, then read.
type rowFile struct {
	scratch *scratch
	holder  *holder
	file    SpillFile
	fields  int
	buf     []byte // the block that is being filled, with room for its header
	counted int64  // bytes that are counted for buf, or for the block that is read
	records int64
	bytes   int64
	largest int // payload
}

func (s *scratch) create(h *holder, fields int) (*rowFile, error) {
	file, err := s.spill.Create()
	if err != nil {
		return nil, fmt.Errorf("%s: making a %w: %w", h.name, errScratch, err)
	}
	f := &rowFile{scratch: s, holder: h, file: file, fields: fields}
	s.open[f] = struct{}{}
	return f, nil
}

// add appends a record, whose row has as many cells as the file's fields.
func (f *rowFile) add(r record) error {
	if f.buf == nil {
		f.buf = make([]byte, blockHeader, f.scratch.block+f.scratch.block/4)
		f.counted = int64(cap(f.buf))
		f.scratch.buffers.take(cap(f.buf))
	}
	buf := binary.AppendUvarint(f.buf, r.a)
	buf = binary.AppendUvarint(buf, r.b)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.key))), r.key...)
	for _, cell := range r.row {
		buf = append(binary.AppendUvarint(buf, uint64(len(cell))), cell...)
	}
	f.buf = buf
	f.records++
	if len(f.buf) >= f.scratch.block {
		return f.flush()
	}
	return nil
}

func (f *rowFile) flush() error {
	payload := len(f.buf) - blockHeader
	if payload <= 0 {
		return nil
	}
	s := f.scratch
	if err := s.check(); err != nil {
		return err
	}
	if s.used+int64(len(f.buf)) > s.limit {
		return fmt.Errorf("%w: %s would take its temporary files beyond their limit of %d bytes", ErrMemory, f.holder.name, s.limit)
	}
	binary.LittleEndian.PutUint32(f.buf, uint32(payload))
	binary.LittleEndian.PutUint32(f.buf[4:], crc32.Checksum(f.buf[blockHeader:], castagnoli))
	if n, err := f.file.Write(f.buf); err != nil || n != len(f.buf) {
		if err == nil {
			err = io.ErrShortWrite
		}
		return fmt.Errorf("%s: writing a %w: %w", f.holder.name, errScratch, err)
	}
	s.used += int64(len(f.buf))
	f.bytes += int64(len(f.buf))
	f.largest = max(f.largest, payload)
	if p := f.holder.plan; p != nil {
		p.Spilled += int64(len(f.buf))
	}
	if cap(f.buf) > 4*s.block { // of one large record
		f.buf = make([]byte, 0, s.block+s.block/4)
	}
	f.buf = f.buf[:blockHeader]
	return nil
}

// finish writes what is left, after the last record.
func (f *rowFile) finish() error {
	err := f.flush()
	f.release()
	return err
}

func (f *rowFile) release() {
	f.scratch.buffers.shrink(f.scratch.buffers.held - f.counted)
	f.buf, f.counted = nil, 0
}

// reading counts the block that is read, instead of the one before it. Those of
// usual size are few enough not to be asked for.
func (f *rowFile) reading(bytes int) error {
	f.release()
	if bytes > max(4*f.scratch.block, 64<<10) {
		if err := f.scratch.buffers.grow(bytes); err != nil {
			return err
		}
	} else {
		f.scratch.buffers.take(bytes)
	}
	f.counted = int64(bytes)
	return nil
}

// close removes the file.
func (f *rowFile) close() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // nothing of it is needed any more
	f.file = nil
	f.release()
	f.scratch.used -= f.bytes
	delete(f.scratch.open, f)
}

// rowReader reads a finished file. Any number may read one file.
type rowReader struct {
	record
	file   *rowFile
	at     int64 // of the next block
	given  int64
	block  []byte // what is left of one; its bytes are never written to again
	offset int64  // of the block, for errors
}

func (f *rowFile) reader() *rowReader {
	return &rowReader{file: f, record: record{row: make([]string, f.fields)}}
}

// next reads a record. The row is valid until the next one; its cells stay.
func (r *rowReader) next() (bool, error) {
	if len(r.block) == 0 {
		if r.at == r.file.bytes {
			if r.given != r.file.records {
				return false, r.damaged("records are missing")
			}
			return false, nil
		}
		if err := r.load(); err != nil {
			return false, err
		}
	}
	var ok [3]bool
	r.a, ok[0] = r.uvarint()
	r.b, ok[1] = r.uvarint()
	r.key, ok[2] = r.text()
	if !ok[0] || !ok[1] || !ok[2] {
		return false, r.damaged("a record ends too early")
	}
	for i := range r.row {
		cell, ok := r.text()
		if !ok {
			return false, r.damaged("a record ends too early")
		}
		r.row[i] = cell
	}
	r.given++
	return true, nil
}

func (r *rowReader) load() error {
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

func (r *rowReader) readAt(b []byte) error {
	n, err := r.file.file.ReadAt(b, r.at)
	if n < len(b) {
		if err == nil || err == io.EOF {
			return r.damaged("the file is too short")
		}
		return fmt.Errorf("%s: reading a %w: %w", r.file.holder.name, errScratch, err)
	}
	r.at += int64(n)
	return nil
}

func (r *rowReader) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(r.block)
	if n <= 0 {
		return 0, false
	}
	r.block = r.block[n:]
	return v, true
}

func (r *rowReader) text() (string, bool) {
	n, ok := r.uvarint()
	if !ok || n > uint64(len(r.block)) {
		return "", false
	}
	text := stringOf(r.block[:n])
	r.block = r.block[n:]
	return text, true
}

func (r *rowReader) damaged(why string) error {
	return fmt.Errorf("%s: a %w was changed: %s, in the block at byte %d", r.file.holder.name, errScratch, why, r.offset)
}
