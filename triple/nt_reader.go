package triple

import (
	"bytes"
	"io"
	"math"
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
	MaxLine    int    // greatest length of a line in bytes; 0: DefaultMaxLine
	BlockBytes int    // about the size of a block; 0: DefaultBlockBytes
	// Offset and Line say where in its document the reader begins, for a reader
	// that goes on where [BlockReader.Position] once was; 0 and 0: at the start.
	Offset int64
	Line   int
	// Annotated says that the document begins with AnnotationsHeader, for a reader
	// that begins behind it; at the start of a document the reader finds out.
	Annotated bool
}

// BlockReader cuts a document into blocks of whole statements: a cut comes
// before a line that starts with '<', '_:' or '#', where the grammar and the
// rule for rejected statements both begin a statement, or, where there is none,
// after a line that is a whole statement. The cuts depend on the document and
// the options only, and what the blocks hold, errors and all, does not depend on
// the cuts. Memory stays within about twice MaxLine.
type BlockReader struct {
	r       io.Reader
	opts    ScanOptions
	buf     []byte // unread text; begins at a line where a statement may begin
	line    int    // of buf[0]
	offset  int64  // of buf[0]
	done    bool   // the document's end or its reader's error is reached
	err     error  // the reader's error, returned after the text before it
	pending bool   // the rest of an oversized statement is still to be skipped
}

// NewBlockReader returns a reader of the blocks of r.
func NewBlockReader(r io.Reader, opts ScanOptions) *BlockReader {
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	opts.MaxLine = min(opts.MaxLine, math.MaxInt/4)
	if opts.BlockBytes <= 0 {
		opts.BlockBytes = DefaultBlockBytes
	}
	return &BlockReader{r: r, opts: opts, line: max(opts.Line, 1), offset: opts.Offset}
}

// Position returns where the next block begins: its offset in the document in
// bytes and its line, from 1. Behind an oversized block it reads to there first.
func (br *BlockReader) Position() (offset int64, line int) {
	br.skipPending()
	return br.offset, br.line
}

// skipPending skips the rest of an oversized statement: not before it is asked
// for what follows, so that a line without an end is told at once.
func (br *BlockReader) skipPending() {
	if br.pending {
		br.pending = false
		br.skipStatement()
	}
}

// Next returns the next block, whose Data the caller owns. At the end it
// returns io.EOF; an error of the document's reader is returned after all whole
// lines before it.
func (br *BlockReader) Next() (*Block, error) {
	br.skipPending()
	if br.offset == 0 {
		br.begin()
	}
	// A line and its end fit in greatest bytes, so that a window of that size
	// without a place to cut holds a line, or a rejected statement, over MaxLine.
	greatest := max(br.opts.BlockBytes, br.opts.MaxLine+len("\r\n"))
	for size := br.opts.BlockBytes; ; size = min(2*size, greatest) {
		br.fill(size)
		window := br.buf[:min(len(br.buf), size)]
		last := br.done && len(window) == len(br.buf)
		switch n := br.cutPoint(window, last && br.err == nil); {
		case n > 0:
			return br.cut(n), nil
		case last && br.err != nil:
			return nil, br.err
		case last:
			return nil, io.EOF
		case size == greatest:
			return br.oversized(window), nil
		}
	}
}

// begin passes over a byte order mark and finds out whether the document has
// annotations.
func (br *BlockReader) begin() {
	br.fill(len(byteOrderMark) + headerWindow)
	if bytes.HasPrefix(br.buf, byteOrderMark) {
		br.buf = br.buf[len(byteOrderMark):]
		br.offset = int64(len(byteOrderMark))
	}
	br.opts.Annotated = beginsAnnotated(br.buf)
}

// maxEmptyReads is how often a reader may return neither bytes nor an error.
const maxEmptyReads = 100

// largeBuffer is from which size on the buffer grows in great steps: room that
// is not yet written to takes no memory, but each buffer that was outgrown does
// until the collector comes round.
const largeBuffer = 4 << 20

// fill reads until buf holds more than want bytes or the document ends.
func (br *BlockReader) fill(want int) {
	empty := 0
	for len(br.buf) <= want && !br.done {
		if len(br.buf) == cap(br.buf) {
			size := max(min(2*cap(br.buf), want+want/8), len(br.buf)+32<<10)
			if size > largeBuffer {
				size = max(size, min(16*size, br.opts.MaxLine+br.opts.MaxLine/8))
			}
			br.buf = append(make([]byte, 0, size), br.buf...)
		}
		n, err := br.r.Read(br.buf[len(br.buf):cap(br.buf)])
		br.buf = br.buf[:len(br.buf)+n]
		if n > 0 {
			empty = 0
		} else if empty++; err == nil && empty == maxEmptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			br.done = true
			if err != io.EOF { // an error that wraps io.EOF is no end
				br.err = err
			}
		}
	}
}

// cutPoint returns where to cut the window, 0 where it holds no such place. whole
// tells that the document ends with it.
func (br *BlockReader) cutPoint(window []byte, whole bool) int {
	if whole {
		return len(window)
	}
	for i := len(window) - 1; i > 0; i-- {
		if isLineEnd(window[i-1]) && startsStatement(window[i:]) {
			return i
		}
	}
	return br.afterWholeLines(window)
}

// afterWholeLines returns the end of the statements, comments and blank lines
// that the window begins with: of those that are whole and followed by no error.
func (br *BlockReader) afterWholeLines(window []byte) int {
	// A CR that ends the window may be half of a CR LF.
	window = bytes.TrimSuffix(window, []byte{'\r'})
	window = window[:1+bytes.LastIndexAny(window, "\r\n")]
	b := newBlock(window, 0, 0, br.opts)
	var st RawStatement
	var t Triple
	var annotations []ApplicationData
	var scratch []byte
	for {
		var more bool
		var err *SyntaxError
		if more, scratch, err = b.nextTriple(&st, &t, &annotations, scratch[:0]); err != nil {
			return b.lineStart
		}
		if !more {
			return len(window)
		}
	}
}

// cut takes the first n bytes of buf as a block.
func (br *BlockReader) cut(n int) *Block {
	b := newBlock(br.buf[:n:n], br.line, br.offset, br.opts)
	rest := br.buf[n:]
	// The block owns its memory; the rest moves to a buffer of its own.
	size := len(rest)
	if !br.done {
		size = max(size, br.opts.BlockBytes+br.opts.BlockBytes/8)
	}
	br.line += countLines(b.Data)
	br.offset += int64(n)
	br.buf = append(make([]byte, 0, size), rest...)
	return b
}

// oversized returns a block that stands for the rejected statement that the
// window begins with and does not hold whole.
func (br *BlockReader) oversized(window []byte) *Block {
	text := newBlock(window, br.line, br.offset, br.opts)
	var st RawStatement
	var t Triple
	var annotations []ApplicationData
	_, _, err := text.nextTriple(&st, &t, &annotations, nil)
	b := newBlock(bytes.Clone(text.rejected), br.line, br.offset, br.opts)
	b.oversized = err
	br.pending = true
	return b
}

// skipStatement skips the text before the next line that starts a statement. It
// holds no more of it than a block.
func (br *BlockReader) skipStatement() {
	for found := false; !found; {
		n, end := len(br.buf), len(br.buf)
		if !br.done { // a line end and '_' may be the last that is read, and ':' follow
			n, end = n-len("\n_"), end-len("_")
		}
		for i := 1; i < end && !found; i++ {
			if isLineEnd(br.buf[i-1]) && startsStatement(br.buf[i:]) {
				n, found = i, true
			}
		}
		br.line += countLines(br.buf[:n])
		if n > 0 && n < len(br.buf) && br.buf[n-1] == '\r' && br.buf[n] == '\n' {
			br.line-- // the LF is still to come
		}
		br.offset += int64(n)
		br.buf = bytes.Clone(br.buf[n:])
		if br.done {
			return
		}
		br.fill(max(br.opts.BlockBytes, 4<<10))
	}
}
