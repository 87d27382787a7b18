package rdfload

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"

	"github.com/klauspost/compress/s2"
)

// A run file holds sorted rows of one order of a run that did not fit into
// memory, until they are merged:
//
//	+-------+-------+-----+-------+--------+
//	| block | block | ... | index | footer |
//	+-------+-------+-----+-------+--------+
//
//	block   size 4 | CRC-32C 4 | rows, compressed with S2
//	row     uvarint(shared << 1 | hasValue) | uvarint(rest) | rest of the key
//	        [ uvarint(length) | value ]      shared: bytes in common with the key before, 0 at a block's start
//	index   for about every MiB of rows: uvarint(block's offset) | uvarint(length) | its first key
//	footer  index offset 8 | CRC-32C of the index 4 | "trun" 4
//
// Fixed numbers are little-endian. A row without a value has the load's common one.
const (
	runBlockBytes = 64 << 10
	runIndexEvery = 1 << 20 / runBlockBytes
	runFooter     = 8 + 4 + 4
	runMagic      = "trun"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errRunFile = errors.New("damaged run file")

// runWriter writes a run file.
type runWriter struct {
	file    *os.File
	out     *bufio.Writer
	offset  int64
	block   []byte
	packed  []byte
	last    []byte // the last key
	blocks  int
	index   []byte
	common  []byte // the value that rows have without saying so
	rows    int64
	scratch [2 * binary.MaxVarintLen64]byte
}

func createRunFile(path string, common []byte) (*runWriter, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &runWriter{file: f, out: bufio.NewWriterSize(f, 256<<10), common: common}, nil
}

func (w *runWriter) Set(key, value []byte) error {
	if len(w.block) >= runBlockBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.block) == 0 && w.blocks%runIndexEvery == 0 {
		w.index = binary.AppendUvarint(w.index, uint64(w.offset))
		w.index = binary.AppendUvarint(w.index, uint64(len(key)))
		w.index = append(w.index, key...)
	}
	shared := 0
	if len(w.block) > 0 {
		shared = commonPrefix(w.last, key)
	}
	head := uint64(shared) << 1
	hasValue := !bytes.Equal(value, w.common)
	if hasValue {
		head |= 1
	}
	w.block = binary.AppendUvarint(w.block, head)
	w.block = binary.AppendUvarint(w.block, uint64(len(key)-shared))
	w.block = append(w.block, key[shared:]...)
	if hasValue {
		w.block = binary.AppendUvarint(w.block, uint64(len(value)))
		w.block = append(w.block, value...)
	}
	w.last = append(w.last[:shared], key[shared:]...)
	w.rows++
	return nil
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if binary.LittleEndian.Uint64(a[i:]) != binary.LittleEndian.Uint64(b[i:]) {
			break
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func (w *runWriter) flush() error {
	w.packed = s2.Encode(w.packed[:cap(w.packed)], w.block)
	if err := w.write(uint32(len(w.packed)), w.packed); err != nil {
		return err
	}
	w.blocks++
	w.block = w.block[:0]
	return nil
}

func (w *runWriter) write(size uint32, data []byte) error {
	head := binary.LittleEndian.AppendUint32(w.scratch[:0], size)
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(data, castagnoli))
	if _, err := w.out.Write(head); err != nil {
		return err
	}
	if _, err := w.out.Write(data); err != nil {
		return err
	}
	w.offset += int64(len(head) + len(data))
	return nil
}

// Close writes the rest and syncs the file.
func (w *runWriter) Close() error {
	err := w.finish()
	return errors.Join(err, w.file.Close())
}

func (w *runWriter) finish() error {
	if len(w.block) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	footer := binary.LittleEndian.AppendUint64(nil, uint64(w.offset))
	footer = binary.LittleEndian.AppendUint32(footer, crc32.Checksum(w.index, castagnoli))
	footer = append(footer, runMagic...)
	if _, err := w.out.Write(append(w.index, footer...)); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

// runIndexEntry names a block by its first key.
type runIndexEntry struct {
	key    []byte
	offset int64
}

// readRunIndex reads the index of the run file at path.
func readRunIndex(path string) (entries []runIndexEntry, end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	damaged := func(what string) error { return fmt.Errorf("%w: %s: %s", errRunFile, path, what) }
	if size < runFooter {
		return nil, 0, damaged("too short")
	}
	footer := make([]byte, runFooter)
	if _, err := f.ReadAt(footer, size-runFooter); err != nil {
		return nil, 0, err
	}
	end = int64(binary.LittleEndian.Uint64(footer))
	if string(footer[12:]) != runMagic || end < 0 || end > size-runFooter {
		return nil, 0, damaged("bad footer")
	}
	index := make([]byte, size-runFooter-end)
	if _, err := f.ReadAt(index, end); err != nil {
		return nil, 0, err
	}
	if crc32.Checksum(index, castagnoli) != binary.LittleEndian.Uint32(footer[8:]) {
		return nil, 0, damaged("the index fails its checksum")
	}
	for len(index) > 0 {
		offset, n := binary.Uvarint(index)
		length, m := binary.Uvarint(index[max(n, 0):])
		if n <= 0 || m <= 0 || length > uint64(len(index)-n-m) {
			return nil, 0, damaged("bad index")
		}
		entries = append(entries, runIndexEntry{index[n+m : n+m+int(length)], int64(offset)})
		index = index[n+m+int(length):]
	}
	return entries, end, nil
}

// runReader iterates over the rows of a run file from a key on.
type runReader struct {
	path  string
	file  *os.File
	in    *bufio.Reader
	left  int64 // bytes of blocks not yet read
	block []byte
	rest  []byte // of block
	pack  []byte
	key   []byte
	value []byte // nil: the common one
}

// openRunFile returns a reader that stands before the first row whose key is at
// least lo; next moves it there.
func openRunFile(path string, entries []runIndexEntry, end int64, lo []byte) (*runReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	if i := sort.Search(len(entries), func(i int) bool { return bytes.Compare(entries[i].key, lo) > 0 }); i > 0 {
		at = entries[i-1].offset
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &runReader{path: path, file: f, in: bufio.NewReaderSize(f, runBlockBytes), left: end - at}, nil
}

func (r *runReader) close() error { return r.file.Close() }

// next reads the next row; ok is false at the end.
func (r *runReader) next() (ok bool, err error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return false, nil
		}
		if err := r.readBlock(); err != nil {
			return false, err
		}
		r.key = r.key[:0]
	}
	head, n := binary.Uvarint(r.rest)
	length, m := binary.Uvarint(r.rest[max(n, 0):])
	if n <= 0 || m <= 0 || head>>1 > uint64(len(r.key)) || length > uint64(len(r.rest)-n-m) {
		return false, r.damaged()
	}
	rest := r.rest[n+m:]
	r.key = append(r.key[:head>>1], rest[:length]...)
	rest = rest[length:]
	r.value = nil
	if head&1 != 0 {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return false, r.damaged()
		}
		r.value = rest[n : n+int(length)]
		rest = rest[n+int(length):]
	}
	r.rest = rest
	return true, nil
}

func (r *runReader) damaged() error { return fmt.Errorf("%w: %s", errRunFile, r.path) }

func (r *runReader) readBlock() error {
	var head [8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return fmt.Errorf("%w: %s: %w", errRunFile, r.path, err)
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if int64(size)+8 > r.left {
		return r.damaged()
	}
	if cap(r.pack) < size {
		r.pack = make([]byte, size)
	}
	r.pack = r.pack[:size]
	if _, err := io.ReadFull(r.in, r.pack); err != nil {
		return fmt.Errorf("%w: %s: %w", errRunFile, r.path, err)
	}
	if crc32.Checksum(r.pack, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return fmt.Errorf("%w: %s: a block fails its checksum", errRunFile, r.path)
	}
	block, err := s2.Decode(r.block[:cap(r.block)], r.pack)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errRunFile, r.path, err)
	}
	r.block, r.rest = block, block
	r.left -= int64(size) + 8
	return nil
}
