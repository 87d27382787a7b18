// The reader of gzip: members, and the padding behind the last one.

package input

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errAfterGzip is an error of bytes behind a member that are neither a member nor zeros to the end.
var errAfterGzip = errors.New("bytes follow the last member: cut them off")

// gzipReader reads the members of a gzip file as one document. Zero bytes behind the last member
// are ignored, as gzip does, because tapes and block devices pad with them.
type gzipReader struct {
	r *bufio.Reader
	z *gzip.Reader
}

func newGzipReader(r *bufio.Reader) (*gzipReader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gzipReader{r: r, z: z}, nil
}

// Read reads the decompressed data of all members.
func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.z.Read(p)
		if err == io.EOF {
			if err = g.next(); n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
}

// next moves to the next member. At the end of the file it returns io.EOF.
func (g *gzipReader) next() error {
	head, err := g.r.Peek(1)
	switch {
	case err != nil:
		return err
	case head[0] == 0:
		return g.skipZeros()
	}
	if err := g.z.Reset(g.r); err != nil {
		if errors.Is(err, gzip.ErrHeader) {
			return errAfterGzip
		}
		return noEOF(err)
	}
	g.z.Multistream(false)
	return nil
}

// skipZeros reads zeros to the end, and returns io.EOF there.
func (g *gzipReader) skipZeros() error {
	for {
		c, err := g.r.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return errAfterGzip
		}
	}
}
