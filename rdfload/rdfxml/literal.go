// XML literals in canonical form.

package rdfxml

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// xmlLiteral parses the content of an element with parseType="Literal". It returns it in Exclusive
// XML Canonicalization with comments.
func (p *parser) xmlLiteral() (string, error) {
	var out []byte
	outer := len(p.open)
	var written []binding // the declarations in out that are in scope
	for {
		// An end tag outside the content ends the literal; all other tokens are appended in
		// canonical form.
		at := p.at
		token, err := p.next()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case element:
			out, written = p.appendStart(out, token, written)
		case xml.EndElement:
			if len(p.open) < outer {
				return string(out), nil
			}
			out = append(out, "</"...)
			out = append(out, rawName(token.Name)...)
			out = append(out, '>')
			// Declarations of the closed element are out of scope in the output.
			for len(written) > 0 && written[len(written)-1].depth > len(p.open) {
				written = written[:len(written)-1]
			}
		case xml.CharData:
			out = appendText(out, token)
		case xml.Comment:
			out = append(append(append(out, "<!--"...), bytes.ReplaceAll(token, []byte("\r"), []byte("&#xD;"))...), "-->"...)
		case xml.ProcInst:
			out = append(append(out, "<?"...), token.Target...)
			if len(token.Inst) > 0 {
				out = append(append(out, ' '), token.Inst...)
			}
			out = append(out, "?>"...)
		}
		// The limit is checked after each token, because the content may be the whole document.
		if len(out) > triple.MaxTermBytes {
			return "", p.failAt(at, "%v", triple.ErrTermTooLong)
		}
	}
}

// appendStart appends a start tag and declares the namespaces that it uses, unless written has
// them. It returns the extended out and written.
func (p *parser) appendStart(out []byte, e element, written []binding) ([]byte, []binding) {
	// 1. Collect the used prefixes, sorted and each once.
	used := []name{e.name}
	for _, a := range e.attrs {
		if a.prefix != "" {
			used = append(used, a.name)
		}
	}
	slices.SortFunc(used, func(a, b name) int { return strings.Compare(a.prefix, b.prefix) })
	used = slices.CompactFunc(used, func(a, b name) bool { return a.prefix == b.prefix })

	// 2. Declare a namespace only if the output has another binding of its prefix.
	out = append(append(out, '<'), e.raw()...)
	for _, n := range used {
		last := ""
		for _, b := range written {
			if b.prefix == n.prefix {
				last = b.space
			}
		}
		if n.prefix == "xml" || last == n.space {
			continue
		}
		written = append(written, binding{n.prefix, n.space, len(p.open)})
		out = append(out, " xmlns"...)
		if n.prefix != "" {
			out = append(append(out, ':'), n.prefix...)
		}
		out = appendValue(out, n.space)
	}
	// 3. Attributes must be sorted by namespace, then by local name.
	attrs := slices.Clone(e.attrs)
	slices.SortFunc(attrs, func(a, b attribute) int {
		return cmp.Or(strings.Compare(a.space, b.space), strings.Compare(a.local, b.local))
	})
	for _, a := range attrs {
		out = append(append(out, ' '), a.raw()...)
		out = appendValue(out, a.value)
	}
	return append(out, '>'), written
}

func appendValue(out []byte, value string) []byte {
	out = append(out, '=', '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '&':
			out = append(out, "&amp;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '"':
			out = append(out, "&quot;"...)
		case '\t':
			out = append(out, "&#x9;"...)
		case '\n':
			out = append(out, "&#xA;"...)
		case '\r':
			out = append(out, "&#xD;"...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func appendText(out, text []byte) []byte {
	for _, c := range text {
		switch c {
		case '&':
			out = append(out, "&amp;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '>':
			out = append(out, "&gt;"...)
		case '\r':
			out = append(out, "&#xD;"...)
		default:
			out = append(out, c)
		}
	}
	return out
}
