// Package blank makes the labels of a document's blank nodes.
//
// With a prefix P the document's label x becomes "P-x" and the n-th anonymous node (from 0) becomes
// "P_n". The two can never be equal. They differ from those of another document too, if its prefix
// has the same length, or has neither '-' nor '_' in it. Prefixes are chosen by the caller:
// rdfload (blankPrefix), internal/server/request (FreshPrefix), internal/cli/documents (documentPrefix) and
// internal/engine.
//
// Without a prefix a label stays as it is and the n-th anonymous node is "genid_n". If a document's
// own label has this form, "genid", one or more '_' and digits, it gets one more '_': genid_7
// becomes genid__7, genid__7 becomes genid___7.
//
// With RDF-star the node of a quoted triple has a hash of it as its number: "P_t" or "genid_t" and 40
// hexadecimal digits. So equal triples have one node, and no table of them is needed.
//
// JSON-LD and RDF/XML may have labels that N-Triples cannot write. Such a label becomes the label
// of an anonymous node, with 'x' and the label's bytes in hexadecimal as its number: "P_x612e" or
// "genid_x612e" for "a.". If a label already has this form, it gets one more '_' too.
package blank

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// anonymous starts the label of an anonymous node if there is no prefix.
const anonymous = "genid"

// Nodes makes the blank nodes of one document. The zero Nodes has no prefix. It is not safe for
// concurrent use.
type Nodes struct {
	Prefix string
	next   uint64
}

// CheckPrefix returns an error if prefix cannot be part of a label. "" is valid.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if err := triple.NewBlank(prefix + "-x").Check(); err != nil {
		return fmt.Errorf("blank node prefix: %w", err)
	}
	return nil
}

// Labelled returns the node for a label of the document. The label must match Turtle's grammar.
func (n *Nodes) Labelled(label []byte) triple.Term {
	if n.Prefix != "" {
		return triple.NewBlank(n.Prefix + "-" + string(label))
	}
	if looksAnonymous(label) {
		return triple.NewBlank(anonymous + "_" + string(label[len(anonymous):]))
	}
	return triple.NewBlank(string(label))
}

// ReplaceLabels returns a term of a document with each blank node replaced by the node for its label: the
// term itself, or the nodes inside of a triple term. Their labels must match Turtle's grammar.
func (n *Nodes) ReplaceLabels(t triple.Term) (triple.Term, error) {
	if !t.HasBlanks() {
		return t, nil
	}
	return t.MapBlanks(func(node triple.Term) (triple.Term, error) { return n.Labelled([]byte(node.Value())), nil })
}

// Any is Labelled for a label of any form.
func (n *Nodes) Any(label string) triple.Term {
	if triple.NewBlank(label).Check() == nil && strings.IndexByte(label, ':') < 0 {
		return n.Labelled([]byte(label))
	}
	prefix := n.Prefix
	if prefix == "" {
		prefix = anonymous
	}
	return triple.NewBlank(prefix + "_x" + hex.EncodeToString([]byte(label)))
}

// Quoted returns the node of a quoted triple. The labels of its blank nodes must be those of [Nodes].
func (n *Nodes) Quoted(t triple.Term) triple.Term {
	prefix := n.Prefix
	if prefix == "" {
		prefix = anonymous
	}
	sum := sha256.Sum256(triple.AppendWholeTerm(nil, t))
	return triple.NewBlank(prefix + "_t" + hex.EncodeToString(sum[:20]))
}

// Anonymous returns a new node on each call.
func (n *Nodes) Anonymous() triple.Term {
	prefix := n.Prefix
	if prefix == "" {
		prefix = anonymous
	}
	number := n.next
	n.next++
	return triple.NewBlank(prefix + "_" + strconv.FormatUint(number, 10))
}

// looksAnonymous reports whether label is "genid", one or more '_', and then digits, or 'x' or 't' and
// lower-case hexadecimal digits.
func looksAnonymous(label []byte) bool {
	rest, ok := bytes.CutPrefix(label, []byte(anonymous+"_"))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, "_")
	if len(rest) > 0 && (rest[0] == 'x' || rest[0] == 't') {
		return len(bytes.Trim(rest[1:], "0123456789abcdef")) == 0
	}
	return len(rest) > 0 && len(bytes.Trim(rest, "0123456789")) == 0
}
