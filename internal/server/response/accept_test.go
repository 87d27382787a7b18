// Negotiation of media types.

package response

import "testing"

func TestNegotiate(t *testing.T) {
	offers := []string{NQuads, NTriples, NDJSON, JSON}
	for accept, want := range map[string]int{
		"":                     0,
		"*/*":                  0,
		"application/*":        0,
		"application/json":     3,
		"APPLICATION/JSON":     3,
		"application/json;q=1": 3,
		"application/json; charset=utf-8; q=0.3, application/n-quads;q=0.2":    3,
		"text/html, application/xhtml+xml, */*;q=0.8":                          0,
		"application/n-quads;q=0, */*":                                         1,
		"application/*;q=0.5, application/json":                                3,
		"application/n-quads;q=0.5, application/*;q=0.1, application/json;q=0": 0,
		"application/n-triples, application/x-ndjson":                          1,
		"text/turtle":                       -1,
		"*/*;q=0":                           -1,
		"application/json;q=2":              -1,
		"application/json;q=x, text/plain":  -1,
		"application/json;q=0.001":          3,
		",,;;, application/x-ndjson ;q=1.0": 2,
		"text/*":                            -1,
	} {
		if got := Negotiate([]string{accept}, offers); got != want {
			t.Errorf("Accept: %s chose %d, want %d", accept, got, want)
		}
	}
	if got := Negotiate([]string{"text/html", "application/json"}, offers); got != 3 {
		t.Errorf("two Accept headers chose %d", got)
	}
}
