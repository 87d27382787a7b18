// The reader that cuts documents into blocks, within limits.

package triple

import (
	"bytes"
	"io"
	"math"
)

// Limits of reading if the options have none, in bytes.
const (
	DefaultMaxLine    = 64 << 20
	DefaultBlockBytes = 1 << 20
)

// ScanOptions are the options of [NewScanner] and [NewBlockReader]. The zero value reads N-Triples.
type ScanOptions struct {
	Source     string // the document's name for messages
	Quads      bool   // read N-Quads
	MaxLine    int    // largest length of a line in bytes; 0: DefaultMaxLine
	BlockBytes int    // approximate size of a block; 0: DefaultBlockBytes
	// Stored must be true if the terms are those of a store, as in a backup: then language tags of earlier releases stay
	// as they are, see [Term.Fold].
	Stored bool
	// Offset and Line are the reader's start in its document, if it continues at an earlier
	// [BlockReader.Position]; 0 and 0 are the document's start.
	Offset int64
	Line   int
	// Annotated must be true if the document begins with AnnotationsHeader and the reader starts
	// after it. At the start of a document the reader detects the header itself.
	Annotated bool
}

// BlockReader cuts a document into blocks of whole statements. It cuts before a line that starts
// with '<', '_:' or '#', because the grammar and the rule for rejected statements both begin a
// statement there. If there is none, it cuts after a line that is a whole statement. The cuts
// depend only on the document and the options. The content of the blocks, including errors, does
// not depend on the cuts. Memory stays within about twice MaxLine.
type BlockReader struct {
	r       io.Reader
	opts    ScanOptions
	buf     []byte // unread text; it begins at a line, at a possible start of a statement
	line    int    // of buf[0]
	offset  int64  // of buf[0]
	done    bool   // the document's end or its reader's error has been reached
	err     error  // the reader's error, returned after the text before it
	pending bool   // the rest of an oversized statement must still be skipped
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

// Position returns the start of the next block: its offset in the document in bytes and its line,
// from 1. After an oversized block it first reads up to there.
func (br *BlockReader) Position() (offset int64, line int) {
	br.skipPending()
	return br.offset, br.line
}

// skipPending skips the rest of an oversized statement. It is called only when the text after it is
// needed, because the error of an endless line must be reported at once.
func (br *BlockReader) skipPending() {
	if br.pending {
		br.pending = false
		br.skipStatement()
	}
}

// Next returns the next block; the caller owns its Data. At the end it returns io.EOF. If the
// document's reader fails, Next returns its error after all whole lines before it.
func (br *BlockReader) Next() (*Block, error) {
	br.skipPending()
	if br.offset == 0 {
		br.begin()
	}
	// A line and its end fit in greatest bytes. If a window of that size has no place to cut, it
	// must hold a line, or a rejected statement, over MaxLine.
	greatest := max(br.opts.BlockBytes, br.opts.MaxLine+len("\r\n"))
	// Double the window until it has a place to cut.
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

// begin skips a byte order mark, and detects whether the document has annotations.
func (br *BlockReader) begin() {
	br.fill(len(byteOrderMark) + HeaderWindow)
	if bytes.HasPrefix(br.buf, byteOrderMark) {
		br.buf = br.buf[len(byteOrderMark):]
		br.offset = int64(len(byteOrderMark))
	}
	br.opts.Annotated = BeginsAnnotated(br.buf)
}

// maxEmptyReads bounds the reads without bytes or an error.
const maxEmptyReads = 100

// largeBuffer is the size from which the buffer grows in large steps. They are cheap because
// unwritten memory is not resident. An outgrown buffer, however, stays resident until the next
// garbage collection.
const largeBuffer = 4 << 20

// fill reads until buf holds more than want bytes or the document ends.
func (br *BlockReader) fill(want int) {
	empty := 0
	for len(br.buf) <= want && !br.done {
		// 1. Grow the buffer if it is full.
		if len(br.buf) == cap(br.buf) {
			size := max(min(2*cap(br.buf), want+want/8), len(br.buf)+32<<10)
			if size > largeBuffer {
				size = max(size, min(16*size, br.opts.MaxLine+br.opts.MaxLine/8))
			}
			br.buf = append(make([]byte, 0, size), br.buf...)
		}
		// 2. Read. A reader may return no bytes without an error, but not forever.
		n, err := br.r.Read(br.buf[len(br.buf):cap(br.buf)])
		br.buf = br.buf[:len(br.buf)+n]
		if n > 0 {
			empty = 0
		} else if empty++; err == nil && empty == maxEmptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			br.done = true
			if err != io.EOF { // only io.EOF itself is the end, not an error that wraps it
				br.err = err
			}
		}
	}
}

// cutPoint returns the place to cut the window, or 0 if it has none. whole must be true if the
// document ends with it.
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

// afterWholeLines returns the end of the whole statements, comments and blank lines at the
// beginning of the window. It stops before the first error.
func (br *BlockReader) afterWholeLines(window []byte) int {
	// A CR at the window's end may be half of a CR LF.
	window = bytes.TrimSuffix(window, []byte{'\r'})
	window = window[:1+bytes.LastIndexAny(window, "\r\n")]
	b := newBlock(window, 0, 0, br.opts)
	var st RawStatement
	var t Triple
	var annotations []ApplicationData
	var scratch []byte
	// Statements must be parsed completely, because the cut must come before the first error.
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
	// The block owns its memory, so the rest must move to another buffer.
	size := len(rest)
	if !br.done {
		size = max(size, br.opts.BlockBytes+br.opts.BlockBytes/8)
	}
	br.line += countLines(b.Data)
	br.offset += int64(n)
	br.buf = append(make([]byte, 0, size), rest...)
	return b
}

// oversized returns a block for the rejected statement at the beginning of the window. The window
// does not hold all of it.
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

// skipStatement skips the text before the next line that starts a statement. It never holds more
// than a block of it.
func (br *BlockReader) skipStatement() {
	for found := false; !found; {
		n, end := len(br.buf), len(br.buf)
		if !br.done { // because a line end and '_' may be the last bytes so far, and ':' may follow
			n, end = n-len("\n_"), end-len("_")
		}
		// 1. Find the next start of a statement in the buffer.
		for i := 1; i < end && !found; i++ {
			if isLineEnd(br.buf[i-1]) && startsStatement(br.buf[i:]) {
				n, found = i, true
			}
		}
		// 2. Drop the text before it, but count its lines because later messages need them.
		br.line += countLines(br.buf[:n])
		if n > 0 && n < len(br.buf) && br.buf[n-1] == '\r' && br.buf[n] == '\n' {
			br.line-- // because the LF comes later
		}
		br.offset += int64(n)
		br.buf = bytes.Clone(br.buf[n:])
		if br.done {
			return
		}
		br.fill(max(br.opts.BlockBytes, 4<<10))
	}
}
