// Errors of unsupported media types.

package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// If a body has a media type that is not RDF, the error lists those that are.
func TestUnsupportedMediaNamesAll(t *testing.T) {
	h := serve(t, newStore(t), Options{}, ServerOptions{})
	resp, err := h.client.Post(h.url+"/triples", "application/foo", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"application/foo", "application/n-triples", "text/turtle", "application/ld+json"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s does not name %s", body, want)
		}
	}
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("status %d", resp.StatusCode)
	}
}
