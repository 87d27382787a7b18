package engine

import "github.com/trefoildb/trefoil/node"

// Isolation returns what queries and updates see of each other now.
func (e *Engine) Isolation() node.Isolation { return e.store.Isolation() }

// Features are what an engine offers of what not all do, for a service
// description.
type Features struct {
	Update            bool // the store takes changes
	Federation        bool // SERVICE, of the hosts that are allowed
	Dereference       bool // LOAD, of the same
	UnionDefaultGraph bool // the default graph of queries is the merge of all graphs
}

// Features returns what the engine offers.
func (e *Engine) Features() Features {
	return Features{
		Update: !e.readOnly, Federation: e.hosts != nil, Dereference: e.hosts != nil && !e.readOnly,
		UnionDefaultGraph: e.opts.UnionDefaultGraph,
	}
}
