// A server whose graph of links does not fit into its memory.

package cli

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkMemory: requests for links are 507 with the reason, and triples are served. A restart with
// more memory has the graph.
func TestLinkMemory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	link := file(t, "links.nt", "<http://a.x/> <urn:trefoil:linksTo> <http://b.x/> .\n")
	s := serve(t, "--data", data, "--link-memory", "1KiB")
	trefoil(t, "add", "--to", s.url, link).mustCode(t, done)
	status, body := s.get(t, "/links/pages")
	if status != http.StatusInsufficientStorage || !strings.Contains(body, `"link-memory"`) || !strings.Contains(body, "--link-memory") {
		t.Errorf("GET /links/pages: %d, %s", status, body)
	}
	status, body = s.get(t, "/sparql?query=SELECT+%2A+%7B+%3Fs+%3Curn:trefoil:links:outDegree%3E+%3Fn+.+%3Fs+%3Curn:trefoil:linksTo%3E+%3Fo+%7D")
	if status != http.StatusInsufficientStorage || !strings.Contains(body, `"link-memory"`) {
		t.Errorf("a query with a function of links: %d, %s", status, body)
	}
	if status, body = s.get(t, "/links/stats"); status != http.StatusOK || !strings.Contains(body, "--link-memory") {
		t.Errorf("GET /links/stats: %d, %s", status, body)
	}
	trefoil(t, "match", "--to", s.url, "? <urn:trefoil:linksTo> ?").mustCode(t, done)
	s.stop(t)
	s = serve(t, "--data", data, "--link-memory", "100MiB")
	trefoil(t, "links", "get", "--to", s.url, "http://a.x/").mustPrint(t, "http://a.x/\thttp://b.x/\n")
	s.stop(t)
}
