// The writer of CSV.

package results

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// csvEncoder writes the SPARQL 1.1 Query Results CSV Format (RFC 4180): lines end
// with CR LF, fields with a comma, a quote or a line end are quoted.
type csvEncoder struct{}

func (csvEncoder) head(dst []byte, vars []string) []byte {
	for i, name := range vars {
		if i > 0 {
			dst = append(dst, ',')
		}
		if len(vars) == 1 && (name == "true" || name == "false") { // not an ASK's
			dst = append(append(append(dst, '"'), name...), '"')
			continue
		}
		dst = appendCSVField(dst, name)
	}
	return append(dst, '\r', '\n')
}

func (csvEncoder) row(dst []byte, row []triple.Term, _ bool) []byte {
	for i, t := range row {
		if i > 0 {
			dst = append(dst, ',')
		}
		if t.Kind() == triple.Blank {
			dst = append(dst, "_:"...)
		}
		dst = appendCSVField(dst, t.Value())
	}
	return append(dst, '\r', '\n')
}

func (csvEncoder) tail(dst []byte) []byte { return dst }

func appendCSVField(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsAny(s, "\",\r\n") {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return append(append(dst, s...), '"')
		}
		dst = append(append(dst, s[:i+1]...), '"')
		s = s[i+1:]
	}
}
