// The address in the status of a lone node.

package server

import (
	"encoding/json"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// The one member of a node's status is at the address that was asked.
func TestStatusAddress(t *testing.T) {
	h := serve(t, newStore(t), Options{}, ServerOptions{})
	resp, err := h.client.Get(h.url + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var status store.Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	if len(status.Members) != 1 || status.Members[0].State != "up" || status.Members[0].Address != h.addr {
		t.Errorf("members %+v, want one that is up at %s", status.Members, h.url)
	}
}
