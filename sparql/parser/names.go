// IRIs and prefixed names, resolved.

package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// names are the base and the prefixes in force.
type names struct {
	base     string
	prefixes []ast.Prefix      // each name once
	index    map[string]int    // of prefixes, by name
	expanded map[string]string // prefixed names met so far
	// expandBytes are those of the IRIs made so far, at most expandLimit: a short
	// name can stand for a long IRI.
	expandBytes, expandLimit int
}

// declare adds a prefix, or gives it another namespace.
func (n *names) declare(prefix ast.Prefix) {
	if n.index == nil {
		n.index = map[string]int{}
		n.expanded = map[string]string{}
	}
	if i, ok := n.index[prefix.Name]; ok {
		n.prefixes[i] = prefix
		n.expanded = map[string]string{}
		return
	}
	n.index[prefix.Name] = len(n.prefixes)
	n.prefixes = append(n.prefixes, prefix)
}

// prologue parses BASE, PREFIX and VERSION declarations.
func (p *parser) prologue() {
	// Declarations come in any order and number.
	for {
		switch {
		case p.takeWord("BASE"):
			if p.tok.kind != tokIRI {
				p.expected("the base as <IRI>")
				return
			}
			p.names.base = p.iriRef()
		case p.takeWord("PREFIX"):
			if p.tok.kind != tokName || p.tok.colon != len(p.tok.value)-1 {
				p.expected("a prefix with its colon")
				return
			}
			name := p.tok.value[:p.tok.colon]
			p.advance()
			if p.tok.kind != tokIRI {
				p.expected("the namespace as <IRI>")
				return
			}
			p.names.declare(ast.Prefix{Name: name, IRI: p.iriRef()})
		case p.takeWord("VERSION"):
			p.version()
		default:
			return
		}
	}
}

// version parses a VersionSpecifier. Each version of the list is a part of the next one, so the
// grammar stays the same.
func (p *parser) version() {
	if p.tok.kind != tokString || p.tok.long {
		p.expected("the version as a string, such as \"1.2\"")
		return
	}
	switch p.tok.value {
	case "1.1", "1.2-basic", "1.2":
		p.advance()
	default:
		p.fail(p.tok.pos, "there is no version %q; expected \"1.1\", \"1.2-basic\" or \"1.2\"", clip(p.tok.value))
	}
}

// iri parses an IRI or a prefixed name.
func (p *parser) iri(what string) string {
	switch p.tok.kind {
	case tokIRI:
		return p.iriRef()
	case tokName:
		return p.prefixedName()
	}
	p.expected(what)
	return ""
}

// iriRef parses an IRIREF and resolves it. It must be next.
func (p *parser) iriRef() string {
	ref, pos := p.tok.value, p.tok.pos
	if !hasScheme(ref) {
		if p.names.base == "" {
			p.fail(pos, "<%s> is a relative IRI, and there is no BASE", clip(ref))
			return ""
		}
		resolved, err := iri.Resolve(p.names.base, ref)
		if err != nil {
			p.fail(pos, "%v", err)
			return ""
		}
		ref = resolved
		if !p.expand(len(ref), pos) {
			return ""
		}
	}
	if err := triple.CheckIRI(ref); err != nil {
		p.fail(pos, "%v", err)
	}
	p.advance()
	return ref
}

// prefixedName parses a PrefixedName. It must be next.
func (p *parser) prefixedName() string {
	name := p.tok.value
	iri, ok := p.names.expanded[name]
	if !ok {
		i, declared := p.names.index[name[:p.tok.colon]]
		// 1. Find the namespace. The caller may have one for a prefix that the text does not declare.
		if !declared && p.opts.Undeclared != nil {
			if iri, ok := p.opts.Undeclared(name[:p.tok.colon]); ok {
				p.names.declare(ast.Prefix{Name: name[:p.tok.colon], IRI: iri})
				i, declared = p.names.index[name[:p.tok.colon]]
			}
		}
		if !declared {
			p.fail(p.tok.pos, "prefix %q is not declared", clip(name[:p.tok.colon+1]))
			return ""
		}
		// 2. Join it and the local name.
		namespace, local := p.names.prefixes[i].IRI, name[p.tok.colon+1:]
		if p.tok.escaped {
			local = unescapeLocal(local)
		}
		if !p.expand(len(namespace)+len(local), p.tok.pos) {
			return ""
		}
		iri = namespace + local
		p.names.expanded[name] = iri
	}
	p.advance()
	return iri
}

// expand counts the bytes of an IRI made.
func (p *parser) expand(n int, pos ast.Pos) bool {
	p.names.expandBytes += n
	if n > triple.MaxTermBytes || p.names.expandBytes > p.names.expandLimit {
		p.fail(pos, "the names expand to more than %d bytes of IRIs", p.names.expandLimit)
		return false
	}
	return true
}

func unescapeLocal(local string) string {
	var b strings.Builder
	for i := 0; i < len(local); i++ {
		if local[i] == '\\' {
			i++
		}
		b.WriteByte(local[i])
	}
	return b.String()
}

// hasScheme reports whether an IRI reference is an absolute IRI.
func hasScheme(ref string) bool {
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		switch {
		case ascii[c]&cLetter != 0:
		case i > 0 && (ascii[c]&cDigit != 0 || c == '+' || c == '-' || c == '.'):
		default:
			return i > 0 && c == ':'
		}
	}
	return false
}
