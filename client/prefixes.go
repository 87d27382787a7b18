// Prefixes: the names of IRIs that a server keeps.

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/internal/api"
)

// Prefixes reads and changes the prefixes that a server keeps.
type Prefixes struct{ *transport }

// PrefixList is the prefixes of a server.
type PrefixList = api.PrefixList

func prefixPath(name string) string { return "/prefixes/" + url.PathEscape(name) }

// List returns the prefixes of the store.
func (c *Prefixes) List(ctx context.Context) (p PrefixList, err error) {
	if err := c.get(ctx, c.endpoint("/prefixes", nil), &p); err != nil {
		return p, fmt.Errorf("list the prefixes: %w", unwrapPermanent(err))
	}
	return p, nil
}

// Set gives a prefix its IRI, whatever it was before.
func (c *Prefixes) Set(ctx context.Context, name, iri string) error {
	_, err := c.change(ctx, call{method: http.MethodPut, target: c.endpoint(prefixPath(name), url.Values{"iri": {iri}})}, true)
	if err != nil {
		return fmt.Errorf("set the prefix %s: %w", name, unwrapPermanent(err))
	}
	return nil
}

// Keep adds prefixes whose names the store does not have. Others keep their IRIs.
func (c *Prefixes) Keep(ctx context.Context, prefixes map[string]string) error {
	body, err := json.Marshal(prefixes)
	if err != nil {
		return err
	}
	_, err = c.change(ctx, call{method: http.MethodPost, target: c.endpoint("/prefixes", nil),
		header: http.Header{"Content-Type": {"application/json"}}, body: body}, true)
	if err != nil {
		return fmt.Errorf("keep prefixes: %w", unwrapPermanent(err))
	}
	return nil
}

// Remove removes a prefix of the store. A well-known one that it replaced is valid again.
func (c *Prefixes) Remove(ctx context.Context, name string) error {
	_, err := c.change(ctx, call{method: http.MethodDelete, target: c.endpoint(prefixPath(name), nil)}, true)
	if err != nil {
		return fmt.Errorf("remove the prefix %s: %w", name, unwrapPermanent(err))
	}
	return nil
}
