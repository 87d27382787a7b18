// The format of temporary files, and how they are written.

package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// The format of temporary files. A file is blocks, one after the other:
//
//	4 bytes  length of the payload, little-endian
//	4 bytes  CRC-32C of the payload
//	payload  records, whole ones
//
// A record is two numbers, a key and the cells of a row. All records of a file must have the
// same number of cells:
//
//	uvarint a | uvarint b | uvarint length, bytes of key | (uvarint length, bytes) of each cell
//
// The query keeps the number of blocks and records of each file, and compares it when it reads.
// If a file is short or changed, this is an error.

// DefaultSpillBytes bounds the temporary files of a query if [exec.Options.SpillBytes] is 0.
const DefaultSpillBytes = 16 << 30

// FanOut is how many files an operator divides its rows into, and merges at a time.
const FanOut = 16

const blockHeader = 8

// ErrFile is wrapped by errors of temporary files.
var ErrFile = errors.New("temporary file")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Scratch makes the temporary files of a query.
type Scratch struct {
	spill       Storage
	used, limit int64 // bytes of the present files
	block       int   // about the bytes of a block
	buffers     memory.Holder
	check       func() error // called for each block
	open        map[*RecordFile]struct{}
}

// NewScratch returns the temporary files of a query with so much memory. A limit of 0 is
// [DefaultSpillBytes]; without spill there are none.
func NewScratch(spill Storage, limit, memory int64, a *memory.Account, check func() error) Scratch {
	if limit == 0 {
		limit = DefaultSpillBytes
	}
	return Scratch{
		spill: spill, limit: limit, check: check, open: map[*RecordFile]struct{}{},
		buffers: a.NewHolder("temporary files"),
		block:   int(min(max(memory/1024, 512), 64<<10)),
	}
}

// Enabled reports whether there may be temporary files.
func (s *Scratch) Enabled() bool { return s.spill != nil }

// CloseAll removes the files left by operators.
func (s *Scratch) CloseAll() {
	for f := range s.open {
		f.Close()
	}
}

// Record is a row in a file.
type Record struct {
	A, B uint64
	Key  string
	Row  []string
}

// RecordFile is a temporary file of records. All must be added before the first is read.
type RecordFile struct {
	scratch *Scratch
	holder  *memory.Holder
	file    File
	fields  int
	buf     []byte // the block being filled, with room for its header
	counted int64  // bytes counted for buf, or for the block read
	Records int64
	bytes   int64
	largest int // payload
}

// Create makes a file of records with a number of fields. The bytes written are counted in the
// plan of h.
func (s *Scratch) Create(h *memory.Holder, fields int) (*RecordFile, error) {
	file, err := s.spill.Create()
	if err != nil {
		return nil, fmt.Errorf("%s: making a %w: %w", h.Name, ErrFile, err)
	}
	f := &RecordFile{scratch: s, holder: h, file: file, fields: fields}
	s.open[f] = struct{}{}
	return f, nil
}

// Add appends a record. The number of cells in its row must be the file's number of fields.
func (f *RecordFile) Add(r Record) error {
	if f.buf == nil {
		f.buf = make([]byte, blockHeader, f.scratch.block+f.scratch.block/4)
		f.counted = int64(cap(f.buf))
		f.scratch.buffers.Take(cap(f.buf))
	}
	buf := binary.AppendUvarint(f.buf, r.A)
	buf = binary.AppendUvarint(buf, r.B)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.Key))), r.Key...)
	for _, cell := range r.Row {
		buf = append(binary.AppendUvarint(buf, uint64(len(cell))), cell...)
	}
	f.buf = buf
	f.Records++
	if len(f.buf) >= f.scratch.block {
		return f.flush()
	}
	return nil
}

func (f *RecordFile) flush() error {
	payload := len(f.buf) - blockHeader
	if payload <= 0 {
		return nil
	}
	s := f.scratch
	if err := s.check(); err != nil {
		return err
	}
	// 1. The files of a query have a limit, because the disk is shared.
	if s.used+int64(len(f.buf)) > s.limit {
		return fmt.Errorf("%w: %s would take its temporary files beyond their limit of %d bytes", memory.ErrMemory, f.holder.Name, s.limit)
	}
	// 2. Write the block with its length and checksum.
	binary.LittleEndian.PutUint32(f.buf, uint32(payload))
	binary.LittleEndian.PutUint32(f.buf[4:], crc32.Checksum(f.buf[blockHeader:], castagnoli))
	if n, err := f.file.Write(f.buf); err != nil || n != len(f.buf) {
		if err == nil {
			err = io.ErrShortWrite
		}
		return fmt.Errorf("%s: writing a %w: %w", f.holder.Name, ErrFile, err)
	}
	// 3. Count the written bytes, here and in the plan.
	s.used += int64(len(f.buf))
	f.bytes += int64(len(f.buf))
	f.largest = max(f.largest, payload)
	if p := f.holder.Plan; p != nil {
		p.Spilled += int64(len(f.buf))
	}
	if cap(f.buf) > 4*s.block { // of one large record
		f.buf = make([]byte, 0, s.block+s.block/4)
	}
	f.buf = f.buf[:blockHeader]
	return nil
}

// Finish writes the last block. It must be called after the last record.
func (f *RecordFile) Finish() error {
	err := f.flush()
	f.release()
	return err
}

func (f *RecordFile) release() {
	f.scratch.buffers.ShrinkTo(f.scratch.buffers.Held - f.counted)
	f.buf, f.counted = nil, 0
}

// reading counts the block read, instead of the one before it. Those of usual size are few
// enough to be counted without a check of the limit.
func (f *RecordFile) reading(bytes int) error {
	f.release()
	if bytes > max(4*f.scratch.block, 64<<10) {
		if err := f.scratch.buffers.Grow(bytes); err != nil {
			return err
		}
	} else {
		f.scratch.buffers.Take(bytes)
	}
	f.counted = int64(bytes)
	return nil
}

// Close removes the file.
func (f *RecordFile) Close() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // nothing of it is needed any more
	f.file = nil
	f.release()
	f.scratch.used -= f.bytes
	delete(f.scratch.open, f)
}
