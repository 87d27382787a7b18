// The token of operators.

package server

import "testing"

// Changing the members takes the operators' token, if there is one; all else takes
// either.
func TestOperatorToken(t *testing.T) {
	for _, c := range []struct {
		client, operator, given, path, method string
		status                                int
	}{
		{"", "", "", "/cluster/leave", "POST", 409},
		{"", "", "", "/count", "GET", 200},
		{"c", "", "", "/cluster/leave", "POST", 401},
		{"c", "", "c", "/cluster/leave", "POST", 409},
		{"c", "o", "", "/cluster/leave", "POST", 401},
		{"c", "o", "c", "/cluster/leave", "POST", 401},
		{"c", "o", "c", "/cluster/remove?machine=1", "POST", 401},
		{"c", "o", "c", "/cluster/accept-loss", "POST", 401},
		{"c", "o", "o", "/cluster/accept-loss", "POST", 409},
		{"c", "o", "o", "/cluster/leave", "POST", 409},
		{"c", "o", "o", "/count", "GET", 200},
		{"c", "o", "c", "/count", "GET", 200},
		{"c", "o", "c", "/cluster/status", "GET", 200},
		{"c", "o", "co", "/count", "GET", 401},
		{"c", "o", "", "/count", "GET", 401},
		{"", "o", "", "/count", "GET", 200},
		{"", "o", "", "/cluster/leave", "POST", 401},
		{"", "o", "o", "/cluster/leave", "POST", 409},
	} {
		s := serve(t, newStore(t), Options{Token: c.client, OperatorToken: c.operator}, ServerOptions{})
		var headers []string
		if c.given != "" {
			headers = []string{"Authorization", "Bearer " + c.given}
		}
		if got := s.do(c.method, c.path, "", headers...); got.status != c.status {
			t.Errorf("%+v: %d %s", c, got.status, got.body)
		}
	}
}
