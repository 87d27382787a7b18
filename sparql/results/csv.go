// The writer of CSV.

package results

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// csvEncoder writes the SPARQL 1.2 Query Results CSV Format (RFC 4180): lines end
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
		dst = appendCSVField(dst, csvText(t))
	}
	return append(dst, '\r', '\n')
}

func (csvEncoder) tail(dst []byte) []byte { return dst }

// csvText returns the text of a term's field. Only a literal inside of a triple term has quotes.
func csvText(t triple.Term) string {
	switch t.Kind() {
	case triple.Blank:
		return "_:" + t.Value()
	case triple.TripleTerm:
		var b strings.Builder
		object, depth := eachLevel(t, func(s, p triple.Term) { b.WriteString("<<( " + csvText(s) + " " + csvText(p) + " ") })
		if object.Kind() == triple.Literal {
			b.WriteString(`"` + strings.ReplaceAll(object.Value(), `"`, `""`) + `"`)
		} else {
			b.WriteString(csvText(object))
		}
		b.WriteString(strings.Repeat(" )>>", depth))
		return b.String()
	}
	return t.Value()
}

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
