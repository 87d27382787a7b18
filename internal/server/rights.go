// The rights that the endpoints need, all in one table.

package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/trefoildb/trefoil/internal/server/access"
)

// Rules of several endpoints.
var (
	open     = access.Rule{Right: access.Open}
	reads    = access.Rule{Right: access.Read}
	writes   = access.Rule{Right: access.Write}
	admins   = access.Rule{Right: access.Admin}
	operates = access.Rule{Right: access.Admin, Operators: true}
	// Of the graphs of a user, if it has some only.
	readsGraphs  = access.Rule{Right: access.Read, Graphs: true}
	writesGraphs = access.Rule{Right: access.Write, Graphs: true}
)

// rules has what each endpoint needs, by method and path. HEAD needs what GET does, and OPTIONS nothing. An update
// at one of the three paths of SPARQL needs the right write beside: its handler checks that, because only the body
// shows it. docs/api/users.md has the same table, see TestRights.
var rules = map[string]access.Rule{
	"GET /": open, "GET /console": open, "GET /healthz": open, "GET /readyz": open, "GET /openapi.json": open,

	"GET /range": readsGraphs, "GET /count": readsGraphs, "GET /fragments": readsGraphs, "GET /prefixes": readsGraphs,
	"GET /triples": readsGraphs, "POST /triples": writesGraphs, "DELETE /triples": writesGraphs,
	"GET /data": readsGraphs, "PUT /data": writesGraphs, "POST /data": writesGraphs, "DELETE /data": writesGraphs,
	"GET /sparql": readsGraphs, "POST /sparql": readsGraphs, "QUERY /sparql": readsGraphs,
	"GET /query": readsGraphs, "POST /query": readsGraphs, "QUERY /query": readsGraphs,
	"GET /update": readsGraphs, "POST /update": readsGraphs, "QUERY /update": readsGraphs,
	"POST /load": {Right: access.Load},

	"POST /prefixes": writes, "PUT /prefixes": writes, "DELETE /prefixes": writes,
	"GET /annotations": reads, "PUT /annotations": writes, "POST /annotations": writes, "DELETE /annotations": writes,
	"GET /changes": reads, "GET /changes/position": reads,
	"GET /subscriptions": reads, "PUT /subscriptions": writes, "POST /subscriptions": writes, "DELETE /subscriptions": writes,
	"GET /.well-known/void": reads, "GET /status": reads, "GET /where": reads, "GET /segments": reads, "GET /cluster/status": reads, "GET /cluster/activity": reads, "GET /metrics": reads,

	"POST /links/uids": readsGraphs, "POST /links/urls": readsGraphs, "POST /links/get": readsGraphs, "POST /links/sample": readsGraphs,
	"POST /links/degrees": readsGraphs, "POST /links/labels": reads, "POST /links/rank": readsGraphs,
	"GET /links/pages": reads, "GET /links/stats": reads, "GET /links/stores": reads, "GET /links/pagerank": reads,
	"POST /links/update": writesGraphs, "POST /links/pagerank": writes, "DELETE /links/pagerank": writes,
	"POST /links/stores": writes,

	"GET /search": readsGraphs, "GET /text": readsGraphs, "PUT /text": admins, "DELETE /text": admins,

	"GET /backup": admins, "GET /check": admins, "POST /restore": operates,
	"GET /queries": operates, "DELETE /queries": operates,
	"GET /debug/pprof": operates,
	"GET /functions":   operates, "PUT /functions": operates, "DELETE /functions": operates,
	"POST /cluster/leave": operates, "POST /cluster/remove": operates,
	"POST /cluster/accept-loss": operates, "POST /cluster/copies": operates,
}

// ruleOf returns the rule of a request to an endpoint. A path without an endpoint and a method that the endpoint
// does not take need any valid identity, or none if the path is open.
func ruleOf(method, name string) (rule access.Rule, known bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if rule, known = rules[method+" "+name]; !known && rules["GET "+name] == open {
		return open, true
	}
	return rule, known
}

// locked reports whether a request to an endpoint needs a token or a password, and whether only operators may send it.
func (a *API) locked(method, name string) (locked, operators bool) {
	rule, _ := ruleOf(method, name)
	if rule == open {
		return false, false
	}
	_, err := a.tokens.Load().Identify(&http.Request{Header: http.Header{}}, rule.Operators)
	return err != nil, rule.Operators
}

// checkRules returns an error if an endpoint has no rule.
func (a *API) checkRules() error {
	for name, d := range a.endpoints {
		for _, method := range slices.Sorted(maps.Keys(d.Methods)) {
			if _, ok := rules[method+" "+name]; !ok {
				return fmt.Errorf("http: %s %s has no rule: add it to the table of rights", method, name)
			}
		}
	}
	return nil
}

// identify returns the identity of a request to an endpoint and the right that it needs, or an error if it may not be sent. The Host header
// comes first, because a web page can point a name of its own at this machine.
func (a *API) identify(r *http.Request, name string) (access.Caller, access.Right, error) {
	tokens := *a.tokens.Load() // the same for all checks
	rule, known := ruleOf(r.Method, name)
	if rule == open {
		return tokens.Caller(r), rule.Right, nil
	}
	if err := a.hosts.Check(r, tokens); err != nil {
		return access.Caller{}, rule.Right, err
	}
	caller, err := tokens.Identify(r, rule.Operators)
	if err == nil && known {
		err = caller.Permit(rule)
	}
	return caller, rule.Right, err
}
