// Update functions of a served node.

package node

import (
	"strconv"

	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
)

// openFunctions starts the functions of a backend, which must be a node: a read-only store makes no
// changes. The service must be closed before the node.
func (s *service) openFunctions(back backend) *functions.Service {
	return functions.Open(functions.Options{
		Store: back.triples, Feed: back.triples.Feed(), Owns: back.node.Owns, Locate: back.locate, Logger: s.Logger, Joined: back.joined,
	})
}

// locate returns the machine and the segment of a row. They are unknown if the node is alone.
func (b backend) locate(key []byte) (l sandbox.Location) {
	v := b.node.View()
	if v == nil {
		return l
	}
	joint := v.Joint()
	segment := joint.Reads().Trie.Lookup(key)
	machine, _ := joint.ReaderOf(segment)
	return sandbox.Location{Machine: machine.String(), Segment: strconv.FormatUint(segment.ID, 16)}
}
