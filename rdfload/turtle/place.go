// Places in a document: line and column.

package turtle

import (
	"bytes"
	"unicode/utf8"
)

// place is a position in a document.
type place struct {
	offset  int64 // bytes before it
	line    int   // from 1
	column  int   // code points before it in the line
	afterCR bool  // the byte before it is CR, so an LF here ends no other line
}

// advance moves the place past b. A line ends at LF, CR LF or a bare CR.
func (p *place) advance(b []byte) {
	if len(b) == 0 {
		return
	}
	p.offset += int64(len(b))
	lines := bytes.Count(b, []byte{'\n'})
	last := bytes.LastIndexByte(b, '\n')
	if cr := bytes.LastIndexByte(b, '\r'); cr >= 0 {
		lines += bytes.Count(b, []byte{'\r'}) - bytes.Count(b, []byte("\r\n"))
		last = max(last, cr)
	}
	if p.afterCR && b[0] == '\n' {
		lines--
	}
	p.line += lines
	if last >= 0 {
		p.column = 0
	}
	p.column += utf8.RuneCount(b[last+1:])
	p.afterCR = b[len(b)-1] == '\r'
}
