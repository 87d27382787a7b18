// The reader of the container format of xz.

package input

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader reads the .xz format (version 1.0.4): streams, one after the other with padding between
// them. A stream has a header, blocks, an index and a footer. Package ulikunitz/xz decodes the
// LZMA2 data of the blocks. Its own container reader is not used, because it allocates the
// dictionary that a block's header requests, up to 4 GiB. This reader rejects more than maxWindow.
type xzReader struct {
	r     *bufio.Reader
	n     int64 // bytes read from r in this stream
	check byte  // the kind of the stream's checks
	block *xzBlock

	// Hashes of the blocks as they were read, and as the index lists them. They must be equal.
	blocks, index hash.Hash
	count         uint64
	started       bool
}

// xzBlock is the current block.
type xzBlock struct {
	lzma   *lzma.Reader2
	start  int64 // offset of its header
	header int64 // size of its header
	size   int64 // decompressed bytes so far
	sum    hash.Hash
	// From the header, or -1 if it lacks them.
	wantPacked, wantSize int64
}

var (
	xzMagic      = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	xzFooter     = []byte{'Y', 'Z'}
	errXZ        = errors.New("damaged data")
	crc64Table   = crc64.MakeTable(crc64.ECMA)
	xzCheckSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
)

func newXZReader(r *bufio.Reader) *xzReader { return &xzReader{r: r} }

// Read reads the decompressed data of all blocks.
func (x *xzReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if x.block == nil {
			if err := x.nextBlock(); err != nil {
				return 0, err
			}
		}
		n, err := x.block.lzma.Read(p)
		x.block.size += int64(n)
		x.block.sum.Write(p[:n])
		if err == io.EOF {
			if err = x.endBlock(); err == nil && n == 0 {
				continue
			}
		}
		return n, err
	}
}

// nextBlock moves to the next block's data, across the end of a stream if necessary. At the end of
// the last stream it returns io.EOF.
func (x *xzReader) nextBlock() error {
	for {
		if !x.started {
			if err := x.startStream(); err != nil {
				return err
			}
		}
		start := x.n
		size, err := x.byte()
		if err != nil {
			return err
		}
		if size != 0 {
			return x.startBlock(start, size)
		}
		if err := x.endStream(); err != nil {
			return err
		}
		x.started = false
		if err := x.skipPadding(); err != nil {
			return err
		}
	}
}

// startStream reads a stream's header.
func (x *xzReader) startStream() error {
	x.n, x.count = 0, 0
	x.blocks, x.index = sha256.New(), sha256.New()
	head, err := x.bytes(12)
	if err != nil {
		return err
	}
	switch {
	case !bytes.Equal(head[:6], xzMagic):
		return fmt.Errorf("%w: no stream header", errXZ)
	case crc32.ChecksumIEEE(head[6:8]) != binary.LittleEndian.Uint32(head[8:]):
		return fmt.Errorf("%w: checksum of the stream header", errXZ)
	case head[6] != 0 || head[7] > 15:
		return fmt.Errorf("unsupported stream flags %#x", head[6:8])
	}
	x.check, x.started = head[7], true
	if _, err := x.newCheck(); err != nil {
		return err
	}
	return nil
}

// newCheck returns the hash for checking blocks.
func (x *xzReader) newCheck() (hash.Hash, error) {
	switch x.check {
	case 0:
		return noCheck{}, nil
	case 1:
		return crc32.NewIEEE(), nil
	case 4:
		return crc64.New(crc64Table), nil
	case 10:
		return sha256.New(), nil
	}
	return nil, fmt.Errorf("unsupported check %d", x.check)
}

// startBlock reads a block's header. Its first byte, the size, must have been read already and must
// not be 0.
func (x *xzReader) startBlock(start int64, size byte) error {
	// 1. Read the whole header and check its sum before anything else is believed.
	length := 4 * (int(size) + 1)
	rest, err := x.bytes(length - 1)
	if err != nil {
		return err
	}
	head := append([]byte{size}, rest...)
	body := head[:length-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(head[length-4:]) {
		return fmt.Errorf("%w: checksum of a block header", errXZ)
	}
	b := &xzBlock{start: start, header: int64(length), wantPacked: -1, wantSize: -1}
	// 2. Read the optional sizes.
	flags := body[1]
	if flags&0x3f != 0 {
		return errors.New("unsupported filters; only LZMA2 is")
	}
	body = body[2:]
	for _, field := range []struct {
		flag byte
		size *int64
	}{{0x40, &b.wantPacked}, {0x80, &b.wantSize}} {
		if flags&field.flag == 0 {
			continue
		}
		v, n := binary.Uvarint(body)
		if n <= 0 || v > 1<<62 {
			return fmt.Errorf("%w: block header", errXZ)
		}
		*field.size, body = int64(v), body[n:]
	}
	// 3. Only one filter is supported: LZMA2 (0x21) with its dictionary size.
	if len(body) < 3 || body[0] != 0x21 || body[1] != 1 {
		return errors.New("unsupported filter; only LZMA2 is")
	}
	dictionary, err := xzDictionary(body[2])
	if err != nil {
		return err
	}
	// The dictionary need not be larger than the data.
	if b.wantSize >= 0 && b.wantSize < int64(dictionary) {
		dictionary = max(int(b.wantSize), lzma.MinDictCap)
	}
	if b.sum, err = x.newCheck(); err != nil {
		return err
	}
	b.lzma, err = lzma.Reader2Config{DictCap: dictionary}.NewReader2(xzSource{x})
	if err != nil {
		return err
	}
	x.block = b
	return nil
}

// xzDictionary returns the dictionary size of a filter's property. It returns an error if the size
// exceeds maxWindow.
func xzDictionary(property byte) (int, error) {
	if property > 40 {
		return 0, fmt.Errorf("%w: dictionary size", errXZ)
	}
	size := uint64(2|property&1) << (property/2 + 11)
	if size > maxWindow {
		return 0, fmt.Errorf("it needs a dictionary of %d MiB; at most %d are supported", size>>20, maxWindow>>20)
	}
	return max(int(size), lzma.MinDictCap), nil
}

// endBlock reads the padding and the check after a block's data.
func (x *xzReader) endBlock() error {
	// 1. Skip the padding. It must be zeros.
	b := x.block
	x.block = nil
	packed := x.n - b.start - b.header
	for (x.n-b.start)%4 != 0 {
		if c, err := x.byte(); err != nil {
			return err
		} else if c != 0 {
			return fmt.Errorf("%w: padding of a block", errXZ)
		}
	}
	// 2. Compare the check with the sum of the decompressed data.
	check, err := x.bytes(xzCheckSizes[x.check])
	if err != nil {
		return err
	}
	sum := b.sum.Sum(nil)
	if x.check == 1 || x.check == 4 { // stored with the low byte first
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	if !bytes.Equal(sum, check) {
		return fmt.Errorf("%w: checksum of a block", errXZ)
	}
	// 3. Compare the sizes with the header, then record them because the index must agree.
	if b.wantPacked >= 0 && b.wantPacked != packed || b.wantSize >= 0 && b.wantSize != b.size {
		return fmt.Errorf("%w: size of a block", errXZ)
	}
	hashRecord(x.blocks, uint64(b.header+packed)+uint64(len(check)), uint64(b.size))
	x.count++
	return nil
}

func hashRecord(h hash.Hash, unpadded, size uint64) {
	var record [16]byte
	binary.LittleEndian.PutUint64(record[:], unpadded)
	binary.LittleEndian.PutUint64(record[8:], size)
	h.Write(record[:])
}

// endStream reads the index and the stream's footer. The first byte of the index must have been
// read already.
func (x *xzReader) endStream() error {
	// 1. Hash the index's records. They are not stored, because their number comes from the file.
	start := x.n - 1
	sum := crc32.NewIEEE()
	sum.Write([]byte{0})
	count, err := x.varint(sum)
	if err != nil {
		return err
	}
	if count != x.count {
		return fmt.Errorf("%w: the index has %d blocks, there are %d", errXZ, count, x.count)
	}
	for range count {
		unpadded, err := x.varint(sum)
		if err != nil {
			return err
		}
		size, err := x.varint(sum)
		if err != nil {
			return err
		}
		hashRecord(x.index, unpadded, size)
	}
	// 2. The padding of the index is part of its checksum.
	for (x.n-start)%4 != 0 {
		c, err := x.byte()
		if err != nil {
			return err
		}
		sum.Write([]byte{c})
	}
	// 3. Check the footer: the sums, the index's size, the flags and the magic bytes must all be
	// right.
	size := x.n - start + 4
	tail, err := x.bytes(16)
	switch {
	case err != nil:
		return err
	case binary.LittleEndian.Uint32(tail) != sum.Sum32():
		return fmt.Errorf("%w: checksum of the index", errXZ)
	case !bytes.Equal(x.blocks.Sum(nil), x.index.Sum(nil)):
		return fmt.Errorf("%w: the index does not agree with the blocks", errXZ)
	case binary.LittleEndian.Uint32(tail[4:]) != crc32.ChecksumIEEE(tail[8:14]),
		(int64(binary.LittleEndian.Uint32(tail[8:]))+1)*4 != size,
		tail[12] != 0, tail[13] != x.check, !bytes.Equal(tail[14:], xzFooter):
		return fmt.Errorf("%w: stream footer", errXZ)
	}
	return nil
}

// skipPadding skips the zeros between streams. At the input's end it returns io.EOF.
func (x *xzReader) skipPadding() error {
	for n := 0; ; n++ {
		c, err := x.r.ReadByte()
		switch {
		case err == io.EOF && n%4 != 0:
			return fmt.Errorf("%w: stream padding", errXZ)
		case err != nil:
			return err
		case c == 0:
			continue
		case n%4 != 0:
			return fmt.Errorf("%w: stream padding", errXZ)
		}
		return x.r.UnreadByte()
	}
}

// byte and the methods below read within a stream. If the input ends there, they return
// io.ErrUnexpectedEOF.
func (x *xzReader) byte() (byte, error) {
	c, err := x.r.ReadByte()
	if err != nil {
		return 0, noEOF(err)
	}
	x.n++
	return c, nil
}

func (x *xzReader) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	read, err := io.ReadFull(x.r, b)
	x.n += int64(read)
	return b, noEOF(err)
}

func (x *xzReader) varint(sum io.Writer) (uint64, error) {
	var v uint64
	for shift := 0; shift < 63; shift += 7 {
		c, err := x.byte()
		if err != nil {
			return 0, err
		}
		sum.Write([]byte{c})
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%w: number", errXZ)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// xzSource is the input of the LZMA2 decoder.
type xzSource struct{ *xzReader }

func (s xzSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	return n, noEOF(err)
}

// ReadByte implements io.ByteReader, because the decoder then needs no one-byte reads.
func (s xzSource) ReadByte() (byte, error) { return s.byte() }

// noCheck is the check of a stream without one.
type noCheck struct{}

func (noCheck) Write(p []byte) (int, error) { return len(p), nil }
func (noCheck) Sum(b []byte) []byte         { return b }
func (noCheck) Reset()                      {}
func (noCheck) Size() int                   { return 0 }
func (noCheck) BlockSize() int              { return 1 }
