// Tests of /subscriptions.

package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/subscriptions"
)

// newRegistry returns a registry that allows webhooks at example.org.
func newRegistry(db *store.Store) *subscriptions.Registry {
	check := func(target string) error {
		if u, err := url.Parse(target); err != nil || !strings.HasSuffix(u.Host, "example.org") {
			return errors.New("not allowed by the operator")
		}
		return nil
	}
	return &subscriptions.Registry{Store: db, Filter: Filter, CheckURL: check, Key: []byte("key")}
}

func TestSubscriptions(t *testing.T) {
	db := newStore(t)
	s := serve(t, db, Options{Subscriptions: newRegistry(db)}, ServerOptions{})
	send := func(method, path string) (int, string) {
		t.Helper()
		a := s.do(method, path, "")
		return a.status, a.body
	}
	// 1. What is refused, and why.
	for path, want := range map[string]string{
		"/subscriptions/":                                 "name of the subscription is missing",
		"/subscriptions/a%20b":                            "letters",
		"/subscriptions/a?x=y":                            "unknown parameter",
		"/subscriptions/a?p=nonsense":                     `"where":"p"`,
		"/subscriptions/a?kinds=fly":                      `"where":"kinds"`,
		"/subscriptions/a?ge=%221%22":                     `"where":"order"`,
		"/subscriptions/a?since=nonsense":                 "since",
		"/subscriptions/a?url=https%3A%2F%2F127.0.0.1%2F": "not allowed by the operator",
	} {
		if status, body := send(http.MethodPut, path); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("PUT %s: %d %s, want %q", path, status, body, want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status, body := send(method, "/subscriptions/none"); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
	// 2. A subscription that its application reads.
	status, body := send(http.MethodPut, "/subscriptions/own?p=%3Chttp%3A%2F%2Fex%2Fp%3E")
	var made struct {
		Changes, Secret string
		State           struct{ Position string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusOK || made.Secret != "" {
		t.Fatal(status, body, err)
	}
	link, err := url.Parse(made.Changes)
	if err != nil || link.Path != "/changes" || link.Query().Get("subscription") != "own" || link.Query().Get("since") != made.State.Position {
		t.Error(made.Changes, err)
	}
	if status, body := send(http.MethodPost, "/subscriptions/own?position="+made.State.Position); status != http.StatusOK {
		t.Error(status, body)
	}
	// Its changes are those of the filter, and not its own position, which each POST changes.
	s.do(http.MethodPut, "/subscriptions/all", "").wantPart(t, `"changes"`)
	s.do(http.MethodPost, "/triples", "<http://ex/s> <http://ex/p> \"1\" .\n<http://ex/s> <http://ex/q> \"2\" .", "Content-Type", "application/n-triples").wantPart(t, "")
	var end struct{ Position string }
	if err := json.Unmarshal([]byte(s.get("/changes/position").body), &end); err != nil {
		t.Fatal(err)
	}
	s.do(http.MethodPost, "/subscriptions/all?position="+end.Position, "").wantPart(t, "")
	for path, want := range map[string]int{made.Changes + "&follow=false": 1, "/changes?since=0&follow=false&subscription=all": 2} {
		if body := s.get(path).body; strings.Count(body, `"kind":"add"`) != want || strings.Contains(body, "annotate") {
			t.Errorf("%s: %s", path, body)
		}
	}
	for path, want := range map[string]string{"/subscriptions/own": "is missing", "/subscriptions/own?position=x": "position"} {
		if status, body := send(http.MethodPost, path); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Error(path, status, body)
		}
	}
	// 3. A webhook: the secret comes with PUT only, and is not stored.
	status, body = send(http.MethodPut, "/subscriptions/hook?url=https%3A%2F%2Fexample.org%2F")
	if status != http.StatusOK || !strings.Contains(body, `"secret":"whsec_`) {
		t.Fatal(status, body)
	}
	if status, body = send(http.MethodPut, "/subscriptions/hook?url=https%3A%2F%2Fexample.org%2F2"); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if status, body = send(http.MethodGet, "/subscriptions"); status != http.StatusOK || strings.Contains(body, "whsec_") ||
		!strings.Contains(body, `"name":"hook"`) || !strings.Contains(body, `"name":"own"`) {
		t.Fatal(status, body)
	}
	if status, body = send(http.MethodDelete, "/subscriptions/hook"); status != http.StatusOK {
		t.Fatal(status, body)
	}
}

// TestSubscriptionOwners checks that each token sees and changes the subscriptions of its owner only,
// and that operators see and change all.
func TestSubscriptionOwners(t *testing.T) {
	db := newStore(t)
	options := Options{Token: "client", OperatorToken: "operator", Subscriptions: newRegistry(db), Applications: []access.Application{
		{ID: "one", Token: "1"}, {ID: "two", Token: "2", Readers: []string{"*"}},
	}}
	s := serve(t, db, options, ServerOptions{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	done := func(a answer, words string) answer {
		t.Helper()
		if a.status != http.StatusOK || !strings.Contains(a.body, words) {
			t.Errorf("%d %s, want %q", a.status, a.body, words)
		}
		return a
	}
	const hook = "?kinds=add&url=https%3A%2F%2Fexample.org%2F"
	secretOf := func(a answer) string {
		t.Helper()
		var made struct{ Secret string }
		done(a, `"secret":"whsec_`)
		if err := json.Unmarshal([]byte(a.body), &made); err != nil {
			t.Fatal(err)
		}
		return made.Secret
	}
	// 1. Each token stores two subscriptions, and is refused those of the others.
	tokens := []string{"client", "operator", "1", "2"}
	secrets := map[string]string{}
	for _, token := range tokens {
		secrets[token] = secretOf(s.do(http.MethodPut, "/subscriptions/hook-"+token+hook+token, "", as(token)...))
		done(s.do(http.MethodPut, "/subscriptions/read-"+token, "", as(token)...), "")
	}
	for _, token := range tokens {
		for _, other := range tokens {
			ok := token == other || token == "operator"
			check := func(what string, a answer) {
				t.Helper()
				if (a.status == http.StatusOK) != ok || !ok && (a.status != http.StatusForbidden || !strings.Contains(a.body, string(problem.KindForbidden)) || strings.Contains(a.body, "example.org")) {
					t.Errorf("%s of %s by %s: %d %s", what, other, token, a.status, a.body)
				}
			}
			check("GET", s.get("/subscriptions/hook-"+other, as(token)...))
			check("PUT", s.do(http.MethodPut, "/subscriptions/hook-"+other+hook+other, "", as(token)...))
			check("PUT since", s.do(http.MethodPut, "/subscriptions/hook-"+other+hook+other+"&since=0", "", as(token)...))
			check("POST", s.do(http.MethodPost, "/subscriptions/read-"+other+"?position=0", "", as(token)...))
			if list := s.get("/subscriptions", as(token)...); strings.Contains(list.body, `"hook-`+other+`"`) != ok || strings.Contains(list.body, "https://example.org/"+other) != ok {
				t.Errorf("the list of %s: %s", token, list.body)
			}
			if !ok {
				check("DELETE", s.do(http.MethodDelete, "/subscriptions/hook-"+other, "", as(token)...))
			}
		}
	}
	// 2. A change by operators leaves the owner and the secret. A name with another owner has another secret.
	if got := secretOf(s.do(http.MethodPut, "/subscriptions/hook-1"+hook, "", as("operator")...)); got != secrets["1"] {
		t.Error("operators changed the secret of an application")
	}
	done(s.get("/subscriptions/hook-1", as("1")...), `"owner":"one"`)
	done(s.do(http.MethodDelete, "/subscriptions/hook-1", "", as("operator")...), "")
	if got := secretOf(s.do(http.MethodPut, "/subscriptions/hook-1"+hook, "", as("2")...)); got == secrets["1"] || got == secrets["2"] {
		t.Error("the new owner of a name has the secret of the former one")
	}
	s.do(http.MethodPut, "/subscriptions/hook-1"+hook, "", as("1")...).wantError(t, http.StatusForbidden, problem.KindForbidden, "", "another application")
	// 3. Without tokens of applications a store has no owners: all requests see and change all.
	open := serve(t, db, Options{Subscriptions: newRegistry(db)}, ServerOptions{})
	done(open.get("/subscriptions"), `"owner":"two"`)
	done(open.do(http.MethodPut, "/subscriptions/new", ""), "")
	if got := open.get("/subscriptions/new"); strings.Contains(got.body, "owner") {
		t.Error(got.body)
	}
	for _, name := range []string{"hook-1", "hook-2", "hook-operator", "hook-client", "new"} {
		done(open.do(http.MethodDelete, "/subscriptions/"+name, ""), "")
	}
}

// TestKeysOfCallers checks that an answer that is kept under an idempotency key is for its caller only:
// it may have the secret of a webhook.
func TestKeysOfCallers(t *testing.T) {
	db := newStore(t)
	s := serve(t, db, Options{Token: "client", OperatorToken: "operator", Subscriptions: newRegistry(db), Applications: []access.Application{
		{ID: "one", Token: "1"}, {ID: "two", Token: "2"},
	}}, ServerOptions{})
	put := func(token string) answer {
		t.Helper()
		return s.do(http.MethodPut, "/subscriptions/hook?kinds=add&url=https%3A%2F%2Fexample.org%2F", "", "Authorization", "Bearer "+token, "Idempotency-Key", "key")
	}
	first := put("1")
	first.wantPart(t, `"secret":"whsec_`)
	for _, token := range []string{"client", "2"} {
		put(token).wantError(t, http.StatusForbidden, problem.KindForbidden, "", "another application")
	}
	put("operator").wantPart(t, `"owner":"one"`)
	if again := put("1"); again.body != first.body {
		t.Errorf("%s became %s", first.body, again.body)
	}
	// What the store remembers is the caller's, too.
	change := func(method, token string, key ...string) {
		t.Helper()
		header := append([]string{"Authorization", "Bearer " + token, "Content-Type", "application/n-triples"}, key...)
		s.do(method, "/triples", `<http://ex/s> <http://ex/p> "1" .`, header...).wantPart(t, `ed":1`)
	}
	const triple = "/triples?s=%3Chttp://ex/s%3E"
	change(http.MethodPost, "1", "Idempotency-Key", "triples")
	change(http.MethodDelete, "1")
	change(http.MethodPost, "1", "Idempotency-Key", "triples")
	if got := s.get(triple, "Authorization", "Bearer 1"); got.body != "" {
		t.Error(got.body)
	}
	change(http.MethodPost, "2", "Idempotency-Key", "triples")
	s.get(triple, "Authorization", "Bearer 1").wantPart(t, `"1"`)
}

// TestReadsOfOperators checks that the clients' token cannot switch off a subscription of kind read,
// also if no application has a token and all callers see all subscriptions.
func TestReadsOfOperators(t *testing.T) {
	db := newStore(t)
	s := serve(t, db, Options{Token: "client", OperatorToken: "operator", Subscriptions: newRegistry(db)}, ServerOptions{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	s.do(http.MethodPut, "/subscriptions/audit?kinds=read", "", as("operator")...).wantPart(t, `"kinds":"read"`)
	for method, query := range map[string]string{http.MethodPut: "?kinds=add", http.MethodPost: "?position=0", http.MethodDelete: ""} {
		s.do(method, "/subscriptions/audit"+query, "", as("client")...).wantError(t, http.StatusForbidden, problem.KindForbidden, "", "operators")
	}
	s.get("/subscriptions/audit", as("client")...).wantPart(t, `"kinds":"read"`)
	s.do(http.MethodPut, "/subscriptions/audit?kinds=add", "", as("operator")...).wantPart(t, `"kinds":"add"`)
	s.do(http.MethodDelete, "/subscriptions/audit", "", as("client")...).wantPart(t, "{}")
}

// TestReservedAnnotations checks that only operators store webhooks for the definitions of
// subscriptions and functions, also if no application has a token.
func TestReservedAnnotations(t *testing.T) {
	db := newStore(t)
	s := serve(t, db, Options{Token: "client", OperatorToken: "operator", Subscriptions: newRegistry(db)}, ServerOptions{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	const hook, system = "?url=https%3A%2F%2Fexample.org%2F", "&g=%3Curn:trefoil:system%3E"
	for query, where := range map[string]string{
		hook + system:                                 "kinds",
		hook + system + "&kinds=add,annotate":         "kinds",
		hook + system + "&app=urn:trefoil:state":      "app",
		hook + "&app=urn:trefoil:registration":        "app",
		hook + "&app=urn:trefoil:definition" + system: "app",
	} {
		s.do(http.MethodPut, "/subscriptions/hook"+query, "", as("client")...).wantError(t, http.StatusForbidden, problem.KindForbidden, where, "operators")
		s.do(http.MethodPut, "/subscriptions/operators"+query, "", as("operator")...).wantPart(t, "example.org")
	}
	for _, query := range []string{hook, hook + "&app=mine", hook + system + "&app=mine", hook + system + "&kinds=add"} {
		s.do(http.MethodPut, "/subscriptions/hook"+query, "", as("client")...).wantPart(t, "example.org")
	}
}
