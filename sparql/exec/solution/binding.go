// Bindings: the encoded form of terms, and their form in keys.

package solution

import (
	"unsafe"

	"github.com/trefoildb/trefoil/triple"
)

// BytesOf returns the bytes of a binding. The caller must not write to them.
func BytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// StringOf returns bytes as a binding; they are never to be written to again.
func StringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// ShortTerm is a size in bytes. If a whole written term is at most as long, it is surely its own
// form in keys.
const ShortTerm = 1024

// AppendKeyForm appends the form of a binding in keys.
func AppendKeyForm(dst []byte, binding string) []byte {
	if len(binding) <= ShortTerm {
		return append(dst, binding...)
	}
	t, err := triple.DecodeTerm(BytesOf(binding))
	if err != nil {
		return append(dst, binding...)
	}
	dst, _ = triple.AppendTerm(dst, t)
	return dst
}

// Encode returns the binding of a term, "" of the zero Term.
func Encode(t triple.Term) string {
	if t.IsZero() {
		return ""
	}
	return string(triple.AppendWholeTerm(nil, t))
}

// KeyOfIRI returns the form of an IRI in keys.
func KeyOfIRI(iri string) string {
	return string(AppendKeyForm(nil, Encode(triple.NewIRI(iri))))
}
