// What the machines have of the graph of links in memory.

package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/trefoildb/trefoil/links"
)

// linkStores is the [links.Loader] of [Links].
type linkStores struct{ *transport }

// Request loads stores on all machines, and returns when they are loaded.
func (s *linkStores) Request(ctx context.Context, stores links.Stores) error {
	return s.write(ctx, map[string]links.Stores{"request": stores})
}

// Relinquish unloads stores on all machines. They load them again when they are needed.
func (s *linkStores) Relinquish(ctx context.Context, stores links.Stores) error {
	return s.write(ctx, map[string]links.Stores{"relinquish": stores})
}

func (s *linkStores) write(ctx context.Context, change map[string]links.Stores) error {
	body, err := json.Marshal(change)
	if err == nil {
		_, _, err = s.send(ctx, call{method: http.MethodPost, target: s.endpoint("/links/stores", nil), body: body,
			header: http.Header{"Content-Type": {"application/json"}}}, maxJSONBytes)
	}
	return linksError("stores", err)
}

// Stores returns what each machine has in memory.
func (s *linkStores) Stores(ctx context.Context) ([]links.ServerStores, error) {
	var answer struct {
		Servers []links.ServerStores `json:"servers"`
	}
	text, _, err := s.send(ctx, call{method: http.MethodGet, target: s.endpoint("/links/stores", nil)}, maxJSONBytes)
	if err == nil {
		err = decodeJSON(text, &answer)
	}
	return answer.Servers, linksError("stores", err)
}
