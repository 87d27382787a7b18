// Blocks of N-Triples documents, for parallel parsers.

package triple

import (
	"bytes"
	"unicode/utf8"
)

// Block is a part of an N-Triples or N-Quads document. It begins at a line and holds only whole
// statements, so blocks of one document can be parsed independently. A [BlockReader] cuts them;
// [NewBlock] makes one of a whole document. Only one goroutine may use a Block.
//
// A statement, a comment, VERSION "1.2" and a blank line are one line each. If a line begins no statement, it is
// rejected up to the next line that starts with '<', '_:' or '#'. A line longer than the limit is
// rejected in the same way.
type Block struct {
	Source string // the document's name for messages
	Line   int    // the first line of Data, counted from 1
	Offset int64  // bytes of the document before Data
	Data   []byte

	quads     bool
	stored    bool // see ScanOptions
	annotated bool // the document begins with AnnotationsHeader
	maxLine   int  // 0 means no limit

	// Data[:pos] is read, and has lines line ends. lineStart and startLine are the same two at the
	// last line read, the line of the statement.
	pos, lines           int
	lineStart, startLine int
	nextCR               int // a CR at or after pos, or len(Data); unknown if below pos

	rejected  []byte
	oversized *SyntaxError // the error, if Data is only the beginning of a rejected statement
}

// NewBlock returns a block of a whole document in memory. maxLine limits the length of a line in
// bytes; 0 means no limit. The block keeps data.
func NewBlock(source string, data []byte, quads bool, maxLine int) *Block {
	offset := int64(len(data))
	data = bytes.TrimPrefix(data, byteOrderMark)
	offset -= int64(len(data))
	return newBlock(data, 1, offset, ScanOptions{Source: source, Quads: quads, MaxLine: maxLine, Annotated: BeginsAnnotated(data)})
}

func newBlock(data []byte, line int, offset int64, opts ScanOptions) *Block {
	return &Block{Source: opts.Source, Line: line, Offset: offset, Data: data,
		quads: opts.Quads, stored: opts.Stored, annotated: opts.Annotated, maxLine: opts.MaxLine, nextCR: -1}
}

// byteOrderMark may precede a document, although the grammar lacks it.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// Next finds the tokens of the next statement. It returns false at the block's end. If it returns
// an error, the statement is rejected ([Block.Rejected] has its text), and the next call continues
// after it. Next does not check the inside of tokens, because [Block.Decode] does.
func (b *Block) Next(st *RawStatement) (bool, *SyntaxError) {
	if err := b.oversized; err != nil {
		b.oversized = nil
		b.rejected, b.pos = b.Data, len(b.Data)
		return true, err
	}
	for b.pos < len(b.Data) {
		// 1. Take a line, and check its length before anything else.
		b.lineStart, b.startLine = b.pos, b.lines
		end, next := b.line(b.pos)
		if b.maxLine > 0 && end-b.pos > b.maxLine {
			return true, b.reject(tokenErrorf(b.pos, "this line is longer than %d bytes (raise the limit with --max-line)", b.maxLine))
		}
		b.pos = next
		b.lines++
		// 2. Skip blank lines, comments and versions, but a header in the wrong place is an error.
		line := b.Data[:end]
		start := skipSpace(line, b.lineStart)
		if start == end {
			continue
		}
		if line[start] == '#' {
			if err := checkHeader(line, start, b.annotated); err != nil {
				return true, b.reject(err)
			}
			continue
		}
		if line[start] == 'V' {
			if err := scanVersion(line, start); err != nil {
				return true, b.reject(err)
			}
			continue
		}
		// 3. Split the statement into tokens.
		if err := scanStatement(line, start, b.quads, st); err != nil {
			return true, b.reject(firstError(st, err))
		}
		return true, nil
	}
	return false, nil
}

// firstError returns the first error inside the tokens that were found before err, or err if there
// is none. It is necessary because an IRI without '>' may extend to the next one's '>'.
func firstError(st *RawStatement, err *tokenError) *tokenError {
	for position, token := range st.Tokens {
		if token == nil {
			continue
		}
		if _, _, inside := decodeToken(token, nil, true); inside != nil {
			inside.at += st.at[position]
			return inside
		}
	}
	return err
}

// Decode checks the token of st at a position ([Subject] to [Graph]) and returns its term. Its
// strings alias the block or scratch, and are valid until either is changed; the returned scratch
// may have grown. If the token is bad, the whole statement is rejected, as in [Block.Next]. st must
// be the last statement of Next.
func (b *Block) Decode(st *RawStatement, position int, scratch []byte) (Term, []byte, *SyntaxError) {
	t, scratch, err := decodeToken(st.Tokens[position], scratch, b.stored)
	if err == nil && t.size() > MaxTermBytes {
		err = tokenErrorf(0, "%v", ErrTermTooLong)
	}
	if err != nil {
		err.at += st.at[position]
		return Term{}, scratch, b.reject(err)
	}
	return t, scratch, nil
}

// nextTriple is Next, Decode and Annotations of a whole statement.
func (b *Block) nextTriple(st *RawStatement, t *Triple, annotations *[]ApplicationData, scratch []byte) (bool, []byte, *SyntaxError) {
	more, err := b.Next(st)
	if !more || err != nil {
		return more, scratch, err
	}
	t.Graph = Term{}
	for position, token := range st.Tokens {
		if token == nil {
			continue
		}
		if *t.term(position), scratch, err = b.Decode(st, position, scratch); err != nil {
			return true, scratch, err
		}
	}
	*annotations, err = b.Annotations(st)
	return true, scratch, err
}

// StatementOffset returns the offset of the last statement's line, in bytes from the document's
// start.
func (b *Block) StatementOffset() int64 { return b.Offset + int64(b.lineStart) }

// Annotated reports whether the document begins with [AnnotationsHeader].
func (b *Block) Annotated() bool { return b.annotated }

// Oversized reports whether the block holds only the beginning of a statement, because it is longer
// than MaxLine. [Block.Next] rejects it.
func (b *Block) Oversized() bool { return b.oversized != nil }

// Rejected returns the text of the last rejected statement, without its line end. If it is longer
// than the limit of a line, only its first 64 KiB are kept. The text aliases the block.
func (b *Block) Rejected() []byte { return bytes.TrimRight(b.rejected, "\r\n") }

// keptOfRejected returns the kept bytes of a rejected text over maxLine.
func keptOfRejected(maxLine int) int { return min(64<<10, maxLine) }

// reject skips the current statement and returns its error with its place; err.at counts from the
// start of Data.
func (b *Block) reject(err *tokenError) *SyntaxError {
	b.pos, b.lines = b.lineStart, b.startLine
	for first := true; b.pos < len(b.Data) && (first || !startsStatement(b.Data[b.pos:])); first = false {
		_, b.pos = b.line(b.pos)
		b.lines++
	}
	b.rejected = b.Data[b.lineStart:b.pos]
	if b.maxLine > 0 && len(b.rejected) > b.maxLine {
		b.rejected = b.rejected[:keptOfRejected(b.maxLine)]
	}
	return &SyntaxError{
		Source: b.Source,
		Line:   b.Line + b.startLine,
		Column: 1 + utf8.RuneCount(b.Data[b.lineStart:err.at]),
		Offset: b.Offset + int64(err.at),
		Msg:    err.msg,
	}
}

// line returns the end of the line at Data[i:] and the start of the next one. i must not decrease,
// except to repeat the last call. All calls together then take time linear in Data, whatever its
// line ends are.
func (b *Block) line(i int) (end, next int) {
	if b.nextCR < i {
		b.nextCR = len(b.Data)
		if n := bytes.IndexByte(b.Data[i:], '\r'); n >= 0 {
			b.nextCR = i + n
		}
	}
	if n := bytes.IndexByte(b.Data[i:b.nextCR], '\n'); n >= 0 {
		return i + n, i + n + 1
	}
	if b.nextCR+1 < len(b.Data) && b.Data[b.nextCR+1] == '\n' {
		return b.nextCR, b.nextCR + 2
	}
	return b.nextCR, min(b.nextCR+1, len(b.Data))
}

// startsStatement reports whether a line with this beginning ends a rejected statement.
func startsStatement(b []byte) bool {
	return len(b) > 0 && (b[0] == '<' || b[0] == '#' || b[0] == '_' && len(b) > 1 && b[1] == ':')
}

// BeginsAnnotated reports whether a document with this beginning, without a byte order mark, has
// [AnnotationsHeader] as its first line. [HeaderWindow] bytes of it are enough.
func BeginsAnnotated(text []byte) bool {
	if n := bytes.IndexAny(text[:min(len(text), HeaderWindow)], "\r\n"); n >= 0 {
		text = text[:n]
	}
	return isKnownHeader(text)
}

// HeaderWindow is the number of a document's first bytes that are searched for a header.
const HeaderWindow = 256

// countLines returns the number of line ends in b (LF, CR LF or a bare CR).
func countLines(b []byte) int {
	lines := bytes.Count(b, []byte{'\n'})
	if crs := bytes.Count(b, []byte{'\r'}); crs > 0 {
		lines += crs - bytes.Count(b, []byte("\r\n"))
	}
	return lines
}
