// Run files: sorted rows of one order on disk.

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

// A run file holds sorted rows of one order of a run until they are merged, because the run did not
// fit into memory:
//
//	+-------+-------+-----+-------+--------+
//	| block | block | ... | index | footer |
//	+-------+-------+-----+-------+--------+
//
//	block   size 4 | CRC-32C of what follows 12 bytes on 4 | CRC-32C of these 8 bytes 4
//	        rows, or one far value, compressed with S2; the size's highest bit marks a far value
//	row     uvarint(shared << 2 | kind) | uvarint(rest) | rest of the key
//	        shared: bytes in common with the key before, 0 at a block's start
//	        then, by kind,  0  nothing: the value is the load's common one
//	                        1  uvarint(length) | value
//	                        2  uvarint(offset of the value's block)
//	index   for about every MiB of rows: uvarint(offset) | uvarint(length) | first key from there on
//	footer  index offset 8 | CRC-32C of the index 4 | "trun" 4
//
// Fixed numbers are little-endian. A value is far if it has more than 16 KiB, because a merge must
// hold only a few small blocks of each run. A far value must stand before the row that refers to
// it.
const (
	runBlockBytes = 64 << 10
	runIndexEvery = 1 << 20 / runBlockBytes
	runHead       = 4 + 4 + 4
	runFooter     = 8 + 4 + 4
	runMagic      = "trun"
	runFar        = 1 << 31
	farBytes      = 16 << 10

	// runReaderBytes is the approximate memory of a runReader.
	runReaderBytes = 256 << 10
)

const (
	valueCommon = iota
	valueHere
	valueFar
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errRunFile = errors.New("damaged run file")

// runWriter writes a run file. Keys must ascend. Only one goroutine may use it.
type runWriter struct {
	file   *os.File
	out    *bufio.Writer
	offset int64
	block  []byte
	packed []byte
	last   []byte // the last key
	blocks int
	index  []byte
	common []byte // the value of rows that store none
	head   []byte
}

func createRunFile(path string, common []byte) (*runWriter, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &runWriter{file: f, out: bufio.NewWriterSize(f, 256<<10), common: common}, nil
}

func (w *runWriter) Set(key, value []byte) error {
	// 1. Blocks end before a row, because a row must not cross blocks.
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
	// 2. A key shares a prefix only inside its block, because a reader may start at any block.
	shared := 0
	if len(w.block) > 0 {
		shared = commonPrefix(w.last, key)
	}
	// 3. Write a far value first, because its offset goes into the row.
	kind := uint64(valueHere)
	at := w.offset
	switch {
	case bytes.Equal(value, w.common):
		kind = valueCommon
	case len(value) > farBytes:
		kind = valueFar
		if err := w.write(value, runFar); err != nil {
			return err
		}
	}
	w.block = binary.AppendUvarint(w.block, uint64(shared)<<2|kind)
	w.block = binary.AppendUvarint(w.block, uint64(len(key)-shared))
	w.block = append(w.block, key[shared:]...)
	switch kind {
	case valueHere:
		w.block = binary.AppendUvarint(w.block, uint64(len(value)))
		w.block = append(w.block, value...)
	case valueFar:
		w.block = binary.AppendUvarint(w.block, uint64(at))
	}
	w.last = append(w.last[:shared], key[shared:]...)
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
	if err := w.write(w.block, 0); err != nil {
		return err
	}
	w.blocks++
	w.block = w.block[:0]
	return nil
}

// write compresses and writes a block with its head; flag is runFar or 0.
func (w *runWriter) write(data []byte, flag uint32) error {
	w.packed = s2.Encode(w.packed[:cap(w.packed)], data)
	w.head = binary.LittleEndian.AppendUint32(w.head[:0], uint32(len(w.packed))|flag)
	w.head = binary.LittleEndian.AppendUint32(w.head, crc32.Checksum(w.packed, castagnoli))
	w.head = binary.LittleEndian.AppendUint32(w.head, crc32.Checksum(w.head, castagnoli))
	if _, err := w.out.Write(w.head); err != nil {
		return err
	}
	if _, err := w.out.Write(w.packed); err != nil {
		return err
	}
	w.offset += int64(len(w.head) + len(w.packed))
	return nil
}

// Close writes the last block, the index and the footer, and syncs the file.
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

// runIndexEntry is the first key of a block and the block's offset.
type runIndexEntry struct {
	key    []byte
	offset int64
}

// readRunIndex reads the index of the run file at path. end is the offset of the index, so the end
// of the blocks. The error wraps errRunFile if the file is damaged.
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
	// 1. Check the footer: its offset must lie in the file.
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
	// 2. Check and split the index. No length may exceed the rest.
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

// runReader iterates over the rows of a run file from a key on. Only one goroutine may use it.
type runReader struct {
	path  string
	file  *os.File
	in    *bufio.Reader
	at    int64 // offset of the next block
	end   int64 // end of the last block
	block []byte
	rest  []byte // of block
	pack  []byte
	key   []byte // valid until next
	value []byte // valid until next; nil if it is the common or a far value
	far   int64  // the offset of a far value's block; -1 if none
	head  [runHead]byte
}

// openRunFile returns a reader before the first row with a key of at least lo, or somewhat before.
// The first call of next reads a row. The caller must close the reader.
func openRunFile(path string, entries []runIndexEntry, end int64, lo []byte) (*runReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	if i := sort.Search(len(entries), func(i int) bool { return bytes.Compare(entries[i].key, lo) > 0 }); i > 0 {
		at = entries[i-1].offset
	}
	r := &runReader{path: path, file: f, in: bufio.NewReaderSize(f, runBlockBytes), at: at, end: end}
	if err := r.seek(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *runReader) close() error { return r.file.Close() }

// seek moves the file to the next block.
func (r *runReader) seek() error {
	_, err := r.file.Seek(r.at, io.SeekStart)
	r.in.Reset(r.file)
	return err
}

// next reads the next row; ok is false at the end.
func (r *runReader) next() (ok bool, err error) {
	// 1. A new block starts without a shared key.
	if len(r.rest) == 0 {
		if ok, err := r.readBlock(); !ok || err != nil {
			return false, err
		}
		r.key = r.key[:0]
	}
	// 2. Check all lengths before use, because the file may be damaged.
	head, n := binary.Uvarint(r.rest)
	length, m := binary.Uvarint(r.rest[max(n, 0):])
	if n <= 0 || m <= 0 || head>>2 > uint64(len(r.key)) || length > uint64(len(r.rest)-n-m) {
		return false, r.damaged("a bad row")
	}
	rest := r.rest[n+m:]
	r.key = append(r.key[:head>>2], rest[:length]...)
	rest = rest[length:]
	// 3. Read the value by its kind; a far value is read only if the caller needs it.
	r.value, r.far = nil, -1
	switch head & 3 {
	case valueHere:
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return false, r.damaged("a bad row")
		}
		r.value = rest[n : n+int(length)]
		rest = rest[n+int(length):]
	case valueFar:
		at, n := binary.Uvarint(rest)
		if n <= 0 || at >= uint64(r.end) {
			return false, r.damaged("a bad row")
		}
		r.far = int64(at)
		rest = rest[n:]
	}
	r.rest = rest
	return true, nil
}

// farBuffer is the memory for reading far values.
type farBuffer struct{ pack, value []byte }

// wholeValue returns the row's value, or nil if it is the common one. A far value is valid until
// the buffer is used again.
func (r *runReader) wholeValue(buffer *farBuffer) ([]byte, error) {
	if r.far < 0 {
		return r.value, nil
	}
	if _, err := r.file.ReadAt(r.head[:], r.far); err != nil {
		return nil, r.damaged(err.Error())
	}
	size, sum, far, err := r.parseHead()
	if err == nil && (!far || r.far+runHead+int64(size) > r.end) {
		err = r.damaged("a far value is none")
	}
	if err != nil {
		return nil, err
	}
	buffer.pack = resized(buffer.pack, size)
	if _, err := r.file.ReadAt(buffer.pack, r.far+runHead); err != nil {
		return nil, r.damaged(err.Error())
	}
	buffer.value, err = r.unpack(buffer.value, buffer.pack, sum)
	return buffer.value, err
}

// parseHead checks the head of a block and returns its fields.
func (r *runReader) parseHead() (size int, sum uint32, far bool, err error) {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(r.head[i:]) }
	if crc32.Checksum(r.head[:8], castagnoli) != word(8) {
		return 0, 0, false, r.damaged("the head of a block fails its checksum")
	}
	return int(word(0) &^ runFar), word(4), word(0)&runFar != 0, nil
}

// resized returns a slice of n bytes; it uses b's memory if that is large enough.
func resized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func (r *runReader) damaged(what string) error {
	return fmt.Errorf("%w: %s: %s", errRunFile, r.path, what)
}

// readBlock reads the next block of rows; ok is false at the end.
func (r *runReader) readBlock() (ok bool, err error) {
	for r.at < r.end {
		if _, err := io.ReadFull(r.in, r.head[:]); err != nil {
			return false, r.damaged(err.Error())
		}
		// The head has its own checksum, because a far value is skipped without reading it.
		size, sum, far, err := r.parseHead()
		if err != nil {
			return false, err
		}
		if r.at += runHead + int64(size); r.at > r.end {
			return false, r.damaged("a block runs past the end")
		}
		if far {
			if err := r.skip(size); err != nil {
				return false, err
			}
			continue
		}
		// An empty block must be an error, because the reader relies on at least one row.
		r.pack = resized(r.pack, size)
		if _, err := io.ReadFull(r.in, r.pack); err != nil {
			return false, r.damaged(err.Error())
		}
		r.block, err = r.unpack(r.block, r.pack, sum)
		if err == nil && len(r.block) == 0 {
			err = r.damaged("an empty block")
		}
		r.rest = r.block
		return err == nil, err
	}
	return false, nil
}

// skip skips the n bytes of a far value; r.at must be its end already.
func (r *runReader) skip(n int) error {
	if n > r.in.Buffered() {
		return r.seek()
	}
	_, err := r.in.Discard(n)
	return err
}

// unpack checks and decompresses a block into the memory of into.
func (r *runReader) unpack(into, pack []byte, sum uint32) ([]byte, error) {
	if crc32.Checksum(pack, castagnoli) != sum {
		return nil, r.damaged("a block fails its checksum")
	}
	block, err := s2.Decode(into[:cap(into)], pack)
	if err != nil {
		return nil, r.damaged(err.Error())
	}
	return block, nil
}
