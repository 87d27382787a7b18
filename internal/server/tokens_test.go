// Tests of tokens that are replaced.

package server

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
)

// TestSetTokens: new tokens count for the next request, and for what subscriptions may read. Wrong ones
// change nothing.
func TestSetTokens(t *testing.T) {
	options := Options{Token: "c", Applications: []access.Application{{ID: "a", Token: "ta"}}}
	mayRead := options.OwnerMayRead()
	s := serve(t, newStore(t), options, ServerOptions{})
	check := func(token string, status int) {
		t.Helper()
		if got := s.get("/count", "Authorization", "Bearer "+token); got.status != status {
			t.Errorf("%s: %d", token, got.status)
		}
	}
	check("c", 200)
	if mayRead("b", "a") || mayRead("a", "b") {
		t.Error("owners may read too much")
	}
	if err := s.api.SetTokens(Tokens{Token: "d", OperatorToken: "o", Applications: []access.Application{{ID: "a", Token: "ta2", Readers: []string{"b"}}, {ID: "b", Token: "tb"}}}); err != nil {
		t.Fatal(err)
	}
	for token, status := range map[string]int{"c": 401, "ta": 401, "d": 200, "o": 200, "ta2": 200, "tb": 200} {
		check(token, status)
	}
	if !mayRead("b", "a") {
		t.Error("the owner's rights did not change")
	}
	if err := s.api.SetTokens(Tokens{Token: "d", Applications: []access.Application{{ID: "a", Token: "d"}}}); err == nil {
		t.Error("an application with the clients' token is accepted")
	}
	check("tb", 200)
}
