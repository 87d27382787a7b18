// Prefixes of a store.

package node

import (
	"context"
	"maps"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/prefixes"
)

// Prefixes reads and changes the prefixes that a store keeps. Its methods are those of [client.Prefixes].
type Prefixes struct{ store *Store }

// List returns the prefixes of the store.
func (p *Prefixes) List(ctx context.Context) (client.PrefixList, error) {
	kept, err := prefixes.Read(ctx, p.store.db)
	if err != nil {
		return client.PrefixList{}, failed(err)
	}
	list := client.PrefixList{Kept: kept, WellKnown: prefixes.WellKnown()}
	maps.DeleteFunc(list.WellKnown, func(name, _ string) bool { return kept[name] != "" })
	return list, nil
}

// Set gives a prefix its IRI, whatever it was before.
func (p *Prefixes) Set(ctx context.Context, name, iri string) error {
	return failed(prefixes.Set(ctx, p.store.db, name, iri))
}

// Keep adds prefixes whose names the store does not have. Others keep their IRIs.
func (p *Prefixes) Keep(ctx context.Context, found map[string]string) error {
	return failed(prefixes.Keep(ctx, p.store.db, found))
}

// Remove removes a prefix of the store. A well-known one that it replaced is valid again.
func (p *Prefixes) Remove(ctx context.Context, name string) error {
	return failed(prefixes.Remove(ctx, p.store.db, name))
}
