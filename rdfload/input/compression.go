// The compressions of documents, and their detection.

package input

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of a decompressor, because the stream chooses it: zstd's window and
// xz's dictionary. xz -9 needs 64 MiB, zstd --ultra -22 needs 128.
const maxWindow = 128 << 20

// Compression is the compression format of a document. The endings of names that have one are in
// rdfload/syntax/syntax.go and links/linkfile/format.go, those of HTTP bodies
// (Content-Encoding) in internal/server/request/body.go.
type Compression uint8

// The known compressions.
const (
	Plain Compression = iota
	Gzip
	Bzip2
	Zstd
	XZ
)

// String returns the usual name of the compression.
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

// Detect returns the compression of a document by its first bytes; 10 are enough.
func Detect(head []byte) Compression {
	// Fewer bytes may be given if the document is shorter.
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
		// Next must be the first block's magic number or the stream's end. If a file is cut off
		// before that, it counts as bzip2 too.
		const block, end = "1AY&SY", "\x17rE8P\x90"
		rest := string(head[4:min(len(head), 10)])
		if rest == block[:len(rest)] || rest == end[:len(rest)] {
			return Bzip2
		}
	}
	return Plain
}

// decompress returns a reader of the decompressed r, and a function to release it, or nil if none
// is necessary.
func decompress(c Compression, r *bufio.Reader) (io.Reader, func() error, error) {
	switch c {
	case Gzip:
		z, err := newGzipReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, nil, nil
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
