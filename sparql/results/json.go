// The writer of JSON.

package results

import "github.com/trefoildb/trefoil/triple"

// jsonEncoder writes SPARQL 1.2 Query Results JSON, a solution on each line.
type jsonEncoder struct {
	keys [][]byte // `"name":` of each variable
}

func (e *jsonEncoder) head(dst []byte, vars []string) []byte {
	dst = append(dst, `{"head":{"vars":[`...)
	for i, name := range vars {
		if i > 0 {
			dst = append(dst, ',')
		}
		quoted := triple.AppendJSONString(nil, name)
		dst = append(dst, quoted...)
		e.keys = append(e.keys, append(quoted, ':'))
	}
	return append(dst, `]},"results":{"bindings":[`...)
}

func (e *jsonEncoder) row(dst []byte, row []triple.Term, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	dst = append(dst, "\n{"...)
	some := false
	for i, t := range row {
		if t.IsZero() {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		dst = append(dst, e.keys[i]...)
		dst = triple.AppendJSON(dst, t)
	}
	return append(dst, '}')
}

func (e *jsonEncoder) tail(dst []byte) []byte { return append(dst, "\n]}}\n"...) }
