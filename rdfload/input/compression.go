package input

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that a stream may make a decompressor keep: zstd's
// window and xz's dictionary. xz -9 needs 64 MiB, zstd --ultra -22 needs 128.
const maxWindow = 128 << 20

// Compression is the way in which a document is compressed.
type Compression uint8

// The ways known.
const (
	Plain Compression = iota
	Gzip
	Bzip2
	Zstd
	XZ
)

// String returns the way's usual name.
func (c Compression) String() string {
	switch c {
	case Plain:
		return "plain"
	case Gzip:
		return "gzip"
	case Bzip2:
		return "bzip2"
	case Zstd:
		return "zstd"
	case XZ:
		return "xz"
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// magicBytes is the length of the longest magic number.
const magicBytes = 10

// Detect tells the compression by a document's first bytes, 10 of which suffice.
func Detect(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		return Zstd // a skippable frame
	case bytes.HasPrefix(head, xzMagic):
		return XZ
	case len(head) >= 4 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9':
		// What follows is the first block's magic number or the stream's end; a
		// file cut off before that is taken for bzip2 too.
		const block, end = "1AY&SY", "\x17rE8P\x90"
		rest := string(head[4:min(len(head), 10)])
		if rest == block[:len(rest)] || rest == end[:len(rest)] {
			return Bzip2
		}
	}
	return Plain
}

// decompress returns a reader of what is compressed in r, and where it needs one
// the function that releases it.
func decompress(c Compression, r *bufio.Reader) (io.Reader, func() error, error) {
	switch c {
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { z.Close(); return nil }, nil // it tells again what Read has told
	case Bzip2:
		return bzip2.NewReader(r), nil, nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { z.Close(); return nil }, nil
	case XZ:
		return newXZReader(r), nil, nil
	}
	return r, nil, nil
}
