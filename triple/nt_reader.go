package triple

import (
	"bytes"
	"errors"
	"io"
)

// Limits of reading, where the options name none.
const (
	DefaultMaxLine    = 64 << 20
	DefaultBlockBytes = 1 << 20
)

// ScanOptions are the options of [NewScanner] and [NewBlockReader]. The zero
// value reads N-Triples.
type ScanOptions struct {
	Source     string // the document's name for messages
	Quads      bool   // read N-Quads
	MaxLine    int    // greatest length of a statement in bytes; 0: DefaultMaxLine
	BlockBytes int    // about the size of a block; 0: DefaultBlockBytes
}

// BlockReader cuts a document into blocks of whole statements: a cut comes
// before a line that starts with '<', '_:' or '#', where the grammar and the
// rule for rejected statements both begin a statement. The cuts depend on the
// document and the options only. Memory stays within about MaxLine.
type BlockReader struct {
	r      io.Reader
	opts   ScanOptions
	buf    []byte // unread text
	line   int
	offset int64
	eof    bool
	err    error
}

// NewBlockReader returns a reader of the blocks of r.
func NewBlockReader(r io.Reader, opts ScanOptions) *BlockReader {
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	if opts.BlockBytes <= 0 {
		opts.BlockBytes = DefaultBlockBytes
	}
	return &BlockReader{r: r, opts: opts, line: 1}
}

// Next returns the next block, whose Data the caller owns. At the end it
// returns io.EOF; an error of the document's reader is returned after the
// blocks before it.
func (br *BlockReader) Next() (*Block, error) {
	first := br.offset == 0
	if err := br.fill(br.opts.BlockBytes); err != nil {
		return nil, err
	}
	if first {
		br.buf = bytes.TrimPrefix(br.buf, []byte("\xEF\xBB\xBF")) // a byte order mark
	}
	if len(br.buf) == 0 && br.eof {
		return nil, io.EOF
	}
	for {
		if br.eof && br.err == nil && len(br.buf) <= br.opts.BlockBytes {
			return br.cut(len(br.buf)), nil
		}
		if n := lastBoundary(br.buf[:min(len(br.buf), max(br.opts.BlockBytes, 1))]); n > 0 {
			return br.cut(n), nil
		}
		// No boundary in the first BlockBytes: look further.
		if n := statementStart(br.buf, 0); n < len(br.buf) {
			return br.cut(n), nil
		}
		if n := br.scanEnd(); n > 0 {
			return br.cut(n), nil
		}
		if br.eof {
			if br.err != nil {
				return nil, br.err
			}
			return br.cut(len(br.buf)), nil
		}
		if len(br.buf) > br.opts.MaxLine {
			return br.tooLong()
		}
		if err := br.fill(min(2*len(br.buf), br.opts.MaxLine+1)); err != nil {
			return nil, err
		}
	}
}

// fill reads until buf holds want bytes or the document ends. A read error is
// kept until the text before it is used up.
func (br *BlockReader) fill(want int) error {
	want++ // one more byte tells whether the document goes on
	for len(br.buf) < want && !br.eof {
		if cap(br.buf) < want {
			grown := make([]byte, len(br.buf), want+want/8)
			copy(grown, br.buf)
			br.buf = grown
		}
		n, err := br.r.Read(br.buf[len(br.buf):cap(br.buf)])
		br.buf = br.buf[:len(br.buf)+n]
		if err != nil {
			br.eof = true
			if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				br.err = err
			}
		}
	}
	if br.err != nil && lastBoundary(br.buf) <= 0 {
		return br.err
	}
	return nil
}

// lastBoundary returns where the last line of b starts that starts a statement,
// 0 where none but the first does.
func lastBoundary(b []byte) int {
	for i := len(b) - 1; i > 0; i-- {
		if isLineEnd(b[i-1]) && startsStatement(b[i:]) {
			return i
		}
	}
	return 0
}

// scanEnd returns the end of the last statement in buf that is whole, for
// documents whose lines begin with white space, 0 where there is none.
func (br *BlockReader) scanEnd() int {
	var st RawStatement
	end := 0
	for {
		i := skipBlank(br.buf, end)
		if i == len(br.buf) {
			return end
		}
		next, err := scanStatement(br.buf, i, br.opts.Quads, &st)
		if err != nil || next == len(br.buf) {
			return end
		}
		end = next
	}
}

// cut takes the first n bytes of buf as a block.
func (br *BlockReader) cut(n int) *Block {
	b := &Block{Source: br.opts.Source, Line: br.line, Offset: br.offset, Data: br.buf[:n:n],
		quads: br.opts.Quads, maxLine: br.opts.MaxLine}
	lines, _ := countLines(b.Data)
	br.line += lines
	br.offset += int64(n)
	// The block owns its memory; the rest moves to a buffer of its own.
	br.buf = append(make([]byte, 0, max(br.opts.BlockBytes+br.opts.BlockBytes/8, len(br.buf)-n)), br.buf[n:]...)
	return b
}

// tooLong returns a block that holds the beginning of a line longer than
// MaxLine as one rejected statement, and skips the rest of it.
func (br *BlockReader) tooLong() (*Block, error) {
	const keep = 64 << 10
	b := &Block{Source: br.opts.Source, Line: br.line, Offset: br.offset, Data: bytes.Clone(br.buf[:min(keep, len(br.buf))])}
	b.tooLong = &SyntaxError{Source: b.Source, Line: b.Line, Column: 1, Offset: b.Offset, Msg: lineTooLong(br.opts.MaxLine)}
	for {
		n := statementStart(br.buf, 0)
		if n == len(br.buf) && !br.eof {
			n = max(n-2, 0) // a boundary may straddle what is read so far
		}
		lines, _ := countLines(br.buf[:n])
		br.line += lines
		br.offset += int64(n)
		br.buf = append(br.buf[:0], br.buf[n:]...)
		if startsStatement(br.buf) || br.eof {
			return b, nil
		}
		if err := br.fill(br.opts.BlockBytes); err != nil {
			return nil, err
		}
	}
}
