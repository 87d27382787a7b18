// Package blank names the blank nodes of a document.
//
// With a prefix P the document's label x is given out as "P-x" and the n-th
// anonymous node (from 0) as "P_n". The two can never meet, nor meet those of
// another document whose prefix has the same length, or has neither '-' nor '_'
// in it.
//
// Without a prefix a label stays as it is and the n-th anonymous node is
// "genid_n". A document's own label that looks so, "genid", one or more '_' and
// digits, gets one '_' more: genid_7 becomes genid__7, genid__7 becomes genid___7.
//
// A label that N-Triples cannot write, as JSON-LD and RDF/XML may have them, is
// given out as that of an anonymous node with 'x' and the label's bytes in
// hexadecimal for the number: "P_x612e" or "genid_x612e" for "a.". Labels that
// look so get one '_' more too.
package blank

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// anonymous starts the label of an anonymous node where there is no prefix.
const anonymous = "genid"

// Nodes gives out the blank nodes of one document. The zero Nodes has no prefix.
type Nodes struct {
	Prefix string
	next   uint64
}

// CheckPrefix returns nil where prefix can stand before a label. "" can.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if err := triple.NewBlank(prefix + "-x").Check(); err != nil {
		return fmt.Errorf("blank node prefix: %w", err)
	}
	return nil
}

// Labelled returns the node that the document calls label, a label of Turtle's
// grammar.
func (n *Nodes) Labelled(label []byte) triple.Term {
	if n.Prefix != "" {
		return triple.NewBlank(n.Prefix + "-" + string(label))
	}
	if looksAnonymous(label) {
		return triple.NewBlank(anonymous + "_" + string(label[len(anonymous):]))
	}
	return triple.NewBlank(string(label))
}

// Any is Labelled for a label of any kind.
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

// Anonymous returns a node that no other call has returned.
func (n *Nodes) Anonymous() triple.Term {
	prefix := n.Prefix
	if prefix == "" {
		prefix = anonymous
	}
	number := n.next
	n.next++
	return triple.NewBlank(prefix + "_" + strconv.FormatUint(number, 10))
}

// looksAnonymous reports whether label is "genid", one or more '_', and then digits
// or 'x' and lower-case hexadecimal digits.
func looksAnonymous(label []byte) bool {
	rest, ok := bytes.CutPrefix(label, []byte(anonymous+"_"))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, "_")
	if digits, ok := bytes.CutPrefix(rest, []byte("x")); ok {
		return len(bytes.Trim(digits, "0123456789abcdef")) == 0
	}
	return len(rest) > 0 && len(bytes.Trim(rest, "0123456789")) == 0
}
