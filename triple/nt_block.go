package triple

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Block is a stretch of an N-Triples or N-Quads document that holds whole
// statements only, so that blocks of one document can be parsed apart. A
// [BlockReader] cuts them; [NewBlock] makes one of a whole document.
type Block struct {
	Source string // the document's name for messages
	Line   int    // the line, from 1, on which Data begins
	Offset int64  // bytes of the document before Data
	Data   []byte

	quads    bool
	maxLine  int
	pos      int
	start    int // of the current statement
	tooLong  *SyntaxError
	rejected []byte
}

// NewBlock returns a block of a whole document that is in memory. maxLine limits
// the length of a statement in bytes; 0 means no limit.
func NewBlock(source string, data []byte, quads bool, maxLine int) *Block {
	return &Block{Source: source, Line: 1, Data: data, quads: quads, maxLine: maxLine}
}

// Next finds the next statement's tokens. It returns false at the block's end.
// An error is what is wrong in the statement, which is thereby rejected: it
// runs to before the next line that starts with '<', '_:' or '#' ([Block.Rejected]
// has its text), and Next goes on after it. Next does not look inside tokens:
// [Block.Decode] does.
func (b *Block) Next(st *RawStatement) (bool, *SyntaxError) {
	if b.tooLong != nil {
		err := b.tooLong
		b.tooLong = nil
		b.rejected, b.pos = b.Data, len(b.Data)
		return true, err
	}
	b.start = skipBlank(b.Data, b.pos)
	if b.start == len(b.Data) {
		b.pos = b.start
		return false, nil
	}
	next, err := scanStatement(b.Data, b.start, b.quads, st)
	if err != nil {
		return true, b.reject(err)
	}
	if b.maxLine > 0 && next-b.start > b.maxLine {
		return true, b.reject(tokenErrorf(b.start, "%s", lineTooLong(b.maxLine)))
	}
	b.pos = next
	return true, nil
}

func lineTooLong(maxLine int) string {
	return fmt.Sprintf("this line is longer than %d bytes (raise the limit with --max-line)", maxLine)
}

// Decode checks the token of st at a position ([Subject] to [Graph]) and returns
// its term, whose strings alias the block or scratch until either is written
// to; scratch comes back grown. On an error the whole statement is rejected, as
// in [Block.Next].
func (b *Block) Decode(st *RawStatement, position int, scratch []byte) (Term, []byte, *SyntaxError) {
	t, scratch, err := decodeToken(st.Tokens[position], scratch)
	if err == nil && len(t.value)+len(t.datatype)+len(t.lang) > MaxTermBytes {
		err = tokenErrorf(0, "%v", ErrTermTooLong)
	}
	if err != nil {
		err.at += st.at[position]
		return Term{}, scratch, b.reject(err)
	}
	return t, scratch, nil
}

// Rejected returns the text of the statement that was rejected last, without
// its line end. It aliases the block.
func (b *Block) Rejected() []byte { return bytes.TrimRight(b.rejected, "\r\n") }

// reject skips the current statement and says what is wrong in it; err.at
// counts from the start of Data.
func (b *Block) reject(err *tokenError) *SyntaxError {
	b.pos = statementStart(b.Data, b.start)
	b.rejected = b.Data[b.start:b.pos]
	at := min(err.at, len(b.Data))
	lines, lineStart := countLines(b.Data[:at])
	column := 1 + utf8.RuneCount(b.Data[lineStart:at])
	return &SyntaxError{Source: b.Source, Line: b.Line + lines, Column: column,
		Offset: b.Offset + int64(at), Msg: err.msg}
}

// statementStart returns the index of the first line after b[i] that starts
// with '<', '_:' or '#', len(b) where there is none.
func statementStart(b []byte, i int) int {
	for i = lineEnd(b, i); i < len(b); i++ {
		if isLineEnd(b[i]) && startsStatement(b[i+1:]) {
			return i + 1
		}
	}
	return len(b)
}

func startsStatement(b []byte) bool {
	return len(b) > 0 && (b[0] == '<' || b[0] == '#' || b[0] == '_' && len(b) > 1 && b[1] == ':')
}

// countLines returns how many lines end in b (LF, CR LF or a bare CR) and where
// the last one begins.
func countLines(b []byte) (lines, lastStart int) {
	if bytes.IndexByte(b, '\r') < 0 { // the fast and common case
		return bytes.Count(b, []byte{'\n'}), bytes.LastIndexByte(b, '\n') + 1
	}
	for i, c := range b {
		if c == '\n' || c == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			lines++
			lastStart = i + 1
		}
	}
	return lines, lastStart
}
