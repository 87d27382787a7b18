// The prefixes that the documents of a load declare, in its manifest.

package rdfload

import (
	"encoding/json"
	"sync"
)

// Limits of declared prefixes, because the manifest must stay small.
const (
	maxDeclared      = 1024
	maxDeclaredBytes = 1024 // of a name and its IRI
)

// declared are the prefixes of a load, in their order. It is safe for concurrent use.
type declared struct {
	mu   sync.Mutex
	list [][2]string // name and IRI
}

// IsZero reports whether the list is empty. Without it, encoding/json would read the list, for omitzero,
// while parsers add to it.
func (d *declared) IsZero() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.list) == 0
}

// MarshalJSON writes the list.
func (d *declared) MarshalJSON() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(d.list)
}

// UnmarshalJSON reads the list.
func (d *declared) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &d.list) }

// recordTo calls to for each prefix in the list, and returns a function that adds a prefix and then calls to. A
// prefix must be in the list before the rows behind it are in a run, so the function is called while it is parsed.
func (d *declared) recordTo(to func(name, iri string)) func(name, iri string) {
	if to == nil {
		return nil
	}
	known := map[[2]string]bool{}
	for _, p := range d.list {
		known[p] = true
		to(p[0], p[1])
	}
	return func(name, iri string) {
		p := [2]string{name, iri}
		d.mu.Lock()
		if !known[p] && len(d.list) < maxDeclared && len(name)+len(iri) <= maxDeclaredBytes {
			known[p] = true
			d.list = append(d.list, p)
		}
		d.mu.Unlock()
		to(name, iri)
	}
}
