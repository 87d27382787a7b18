// Features of an engine, for service descriptions.

package engine

import "github.com/trefoildb/trefoil/internal/store"

// Isolation returns the isolation level of queries and updates.
func (e *Engine) Isolation() store.Isolation { return e.store.Isolation() }

// Features describe an engine in a service description.
type Features struct {
	Update            bool // the store accepts changes
	Federation        bool // SERVICE, of allowed hosts
	Dereference       bool // LOAD, of allowed hosts
	Links             bool // the functions of links
	Text              bool // text search
	UnionDefaultGraph bool // the default graph of queries is the merge of all graphs
}

// Features returns the features of the engine.
func (e *Engine) Features() Features {
	return Features{
		Update: !e.opts.ReadOnly, Federation: e.hosts != nil, Dereference: e.hosts != nil && !e.opts.ReadOnly,
		Links: e.opts.Links != nil, Text: e.opts.Text != nil, UnionDefaultGraph: e.opts.UnionDefaultGraph,
	}
}
