package writes

import (
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// chunk is operations for one machine, as many as one message takes.
type chunk struct {
	view       *view.View // under which it is for machine
	machine    trie.MachineID
	operations []node.Operation
	size       int64
}

// A chunk has so many bytes and operations at most, or one operation.
const (
	chunkBytes      = 1 << 20
	chunkOperations = 5_000
)

// chunks collects operations by machine.
type chunks struct {
	view *view.View
	open map[trie.MachineID]*chunk
}

// add adds an operation, and returns the machine's chunk when it is full.
func (c *chunks) add(m trie.MachineID, o node.Operation) *chunk {
	if c.open == nil {
		c.open = map[trie.MachineID]*chunk{}
	}
	to := c.open[m]
	if to == nil {
		to = &chunk{view: c.view, machine: m}
		c.open[m] = to
	}
	to.operations = append(to.operations, o)
	to.size += int64(bytesOf(&o) + 32)
	if to.size < chunkBytes && len(to.operations) < chunkOperations {
		return nil
	}
	delete(c.open, m)
	return to
}

// rest returns the chunks that are not full.
func (c *chunks) rest() (rest []*chunk) {
	for _, m := range c.open {
		rest = append(rest, m)
	}
	c.open = nil
	return rest
}
