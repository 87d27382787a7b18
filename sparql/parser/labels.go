// Labels of blank nodes and their scopes.

package parser

import (
	"strconv"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// labels keeps the rules of blank node labels (section 19.6): a label stands in
// one basic graph pattern only of a query or a whole request, and in one INSERT
// DATA only of a request. Templates are free.
type labels struct {
	// scope is the scope of the next labels: a basic graph pattern's, an INSERT DATA's, or
	// templateScope.
	scope, lastScope labelScope
	scopes           map[scopedLabel]labelScope // the first scope of a label
	renamed          map[string]string          // the tree's labels by those of the text
	used             map[string]bool            // the labels in the tree
	count            int                        // of nodes without a label
}

// labelScope numbers the scopes of labels; those of data are negative.
type labelScope int

const templateScope labelScope = 0

type scopedLabel struct {
	label string
	data  bool
}

// newPattern begins another basic graph pattern.
func (l *labels) newPattern() {
	l.lastScope++
	l.scope = l.lastScope
}

// newData begins another INSERT DATA.
func (l *labels) newData() {
	l.lastScope++
	l.scope = -l.lastScope
}

// blankNode parses a blank node label. It must be next.
func (p *parser) blankNode() ast.Node {
	l := &p.labels
	label, pos := p.tok.value, p.tok.pos
	if l.renamed == nil {
		l.renamed = map[string]string{}
		l.scopes = map[scopedLabel]labelScope{}
	}
	// 1. A label must not stand in two basic graph patterns, or in two INSERT DATA.
	if l.scope != templateScope {
		key := scopedLabel{label, l.scope < 0}
		if first, ok := l.scopes[key]; !ok {
			l.scopes[key] = l.scope
		} else if first != l.scope {
			if key.data {
				p.fail(pos, "the blank node label _:%s stands in another INSERT DATA already; expected a label of its own", clip(label))
			} else {
				p.fail(pos, "the blank node label _:%s stands in another basic graph pattern already; expected a variable, or a label of its own", clip(label))
			}
		}
	}
	// 2. Labels of the text must get names unused by other scopes.
	name, ok := l.renamed[label]
	if !ok {
		name = label
		for l.used[name] {
			name += "_"
		}
		l.use(name)
		l.renamed[label] = name
	}
	p.advance()
	return ast.Node{Pos: pos, Term: triple.NewBlank(name)}
}

// newBlank returns a blank node for [ ] or ( ), with a label unused by the text so far. If the
// text uses it later, the text's label is renamed.
func (p *parser) newBlank(pos ast.Pos) ast.Node {
	l := &p.labels
	for {
		l.count++
		if label := "anon" + strconv.Itoa(l.count); !l.used[label] {
			l.use(label)
			return ast.Node{Pos: pos, Term: triple.NewBlank(label)}
		}
	}
}

// release makes the labels unused that newBlank made since there were count. No tree may have one.
func (l *labels) release(count int) {
	for ; l.count > count; l.count-- {
		if label := "anon" + strconv.Itoa(l.count); l.renamed[label] != label { // else it is one of the text
			delete(l.used, label)
		}
	}
}

func (l *labels) use(name string) {
	if l.used == nil {
		l.used = map[string]bool{}
	}
	l.used[name] = true
}
