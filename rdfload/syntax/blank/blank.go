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
package blank

import (
	"fmt"
	"strconv"

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

// Labelled returns the node that the document calls label.
func (n *Nodes) Labelled(label []byte) triple.Term {
	if n.Prefix != "" {
		return triple.NewBlank(n.Prefix + "-" + string(label))
	}
	if looksAnonymous(label) {
		return triple.NewBlank(anonymous + "_" + string(label[len(anonymous):]))
	}
	return triple.NewBlank(string(label))
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

// looksAnonymous tells whether label is "genid", one or more '_', and digits.
func looksAnonymous(label []byte) bool {
	i := len(anonymous)
	if len(label) < i+2 || string(label[:i]) != anonymous || label[i] != '_' {
		return false
	}
	for i < len(label) && label[i] == '_' {
		i++
	}
	for _, c := range label[i:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return i < len(label)
}
