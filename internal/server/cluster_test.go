// A node of a cluster: degraded answers, errors, members and status.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// spread is a store as that of a cluster is: its snapshots may
// be degraded, and its status tells of members.
type spread struct {
	*store.Store
	after  int              // rows until a read is degraded; less than 0 is never
	fail   error            // what reads end with instead
	others []trie.MachineID // more members of its status
	// failApply is what changes end with when a part of them is done.
	failApply error
}

type spreadSnapshot struct {
	store.Reader
	store    *spread
	degraded atomic.Bool
}

func (s *spread) Reader() (store.Reader, error) {
	sn, err := s.Store.Snapshot()
	return &spreadSnapshot{Reader: sn, store: s}, err
}

func (s *spread) StateReader() (r store.Reader, release func(), err error) {
	r, err = s.Reader()
	return r, func() {}, err
}

func (s *spread) Write(ctx context.Context, c store.Change) (store.Result, error) {
	if update := c.Update; update != nil {
		c.Update = func(sn store.Reader) (store.Steps, error) { return update(&spreadSnapshot{Reader: sn, store: s}) }
	}
	r, err := s.Store.Write(ctx, c)
	if c.Kind == store.KindApply || c.Kind == store.KindUpdate {
		err = errors.Join(err, s.failApply)
	}
	return r, err
}

func (s *spread) Status() api.Status {
	status := s.Store.Status()
	status.Cluster, status.Phase = "photos", "fill"
	status.Members[0].Address = "10.0.0.1:7333"
	status.Members[0].Walk = &api.Walk{Rows: 5, Left: 7}
	for _, id := range s.others {
		status.Members = append(status.Members, api.Member{ID: id.String(), State: "up"})
	}
	return status
}

func (s *spreadSnapshot) Degraded() bool { return s.degraded.Load() }

func (s *spreadSnapshot) rows(all iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		n := 0
		for row, err := range all {
			if n == s.store.after {
				if s.store.fail != nil {
					yield(store.Row{}, s.store.fail)
					return
				}
				s.degraded.Store(true)
			}
			if n++; !yield(row, err) {
				return
			}
		}
	}
}

func (s *spreadSnapshot) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return s.rows(s.Reader.Match(ctx, p, o))
}

func (s *spreadSnapshot) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return s.rows(s.Reader.Range(ctx, b, o))
}

func (s *spreadSnapshot) Count(ctx context.Context, all ...triple.Pattern) (int64, error) {
	s.degraded.Store(s.store.after >= 0)
	return s.Reader.Count(ctx, all...)
}

func (s *spreadSnapshot) Source() sparql.Source { return spreadSource{s.Reader.Source(), s} }

type spreadSource struct {
	sparql.Source
	snapshot *spreadSnapshot
}

func (s spreadSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	if err := s.snapshot.store.fail; err != nil {
		return nil, err
	}
	s.snapshot.degraded.Store(s.snapshot.store.after >= 0)
	return s.Source.Scan(ctx, r, reverse)
}

func (s spreadSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	s.snapshot.degraded.Store(s.snapshot.store.after >= 0)
	return s.Source.Count(ctx, r)
}

// serveSpread serves a store like a cluster's, with SPARQL.
func serveSpread(t testing.TB, s *spread, options Options) *testServer {
	t.Helper()
	e, err := engine.New(s, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	options.Engine = e
	return serve(t, s, options, ServerOptions{})
}

// readers are requests that read all there is, or a page of it.
var readers = map[string]string{
	"stream": "/range?order=spo", "page": "/triples?limit=1000", "count": "/count", "fragment": "/fragments?limit=1000", "graph": "/data?default",
	"select":  target("/sparql", "query", "SELECT * { ?s ?p ?o }"),
	"explain": target("/sparql", "query", "SELECT * { ?s ?p ?o }", "explain", "run"),
	"build":   target("/sparql", "query", "CONSTRUCT WHERE { ?s ?p ?o }"),
}

// The header tells of a degraded answer, whatever endpoint it comes through, and of no
// other.
func TestDegraded(t *testing.T) {
	store := newStore(t)
	fill(t, store, 100, 10)
	for name, path := range readers {
		for after, want := range map[int]string{0: "true", -1: ""} {
			s := serveSpread(t, &spread{Store: store, after: after}, Options{})
			got := s.get(path)
			if got.status != http.StatusOK || got.err != nil || got.header.Get(response.DegradedHeader) != want {
				t.Errorf("%s, degraded after %d rows: %d, %v, %v", name, after, got.status, got.err, got.header)
			}
		}
	}
	alone := serve(t, store, Options{}, ServerOptions{})
	for name, path := range readers {
		if got := alone.get(path); got.status != http.StatusOK || got.header.Get(response.DegradedHeader) != "" {
			t.Errorf("%s, alone: %d, %v", name, got.status, got.header)
		}
	}
}

// The header goes out with the first full buffer: what is met before shows in it,
// and an error before is answered as one, without the header.
func TestDegradedStream(t *testing.T) {
	db := newStore(t)
	fill(t, db, 1000, 1000) // a buffer has some 60 rows
	s := serveSpread(t, &spread{Store: db, after: 30}, Options{})
	for _, path := range []string{"/range?order=spo", "/data?default", "/triples?limit=50"} {
		if got := s.get(path); got.status != 200 || got.err != nil || got.header.Get(response.DegradedHeader) != "true" {
			t.Errorf("%s: %d %v %v", path, got.status, got.err, got.header)
		}
	}
	s = serveSpread(t, &spread{Store: db, after: 900, fail: store.ErrUnavailable}, Options{})
	if got := s.get("/range?order=spo"); got.status != 200 || got.err == nil {
		t.Errorf("an answer that fails midway ends with %d, %v", got.status, got.err)
	}
}

// What a cluster cannot answer has a status and a kind of its own; only what may
// come back is worth another try.
func TestClusterErrors(t *testing.T) {
	db := newStore(t)
	fill(t, db, 10, 10)
	for _, test := range []struct {
		err    error
		status int
		kind   problem.Kind
		words  string
		retry  string
	}{
		{fmt.Errorf("scan: %w: two owners are away", store.ErrUnavailable), 503, problem.KindUnavailable, "two owners", "1"},
		{fmt.Errorf("scan: %w: spo from epoch 12", store.ErrLost), 503, problem.KindLost, "lost", ""},
		{errors.Join(store.ErrUnavailable, store.ErrLost), 503, problem.KindLost, "", ""},
		{errors.Join(store.ErrUnavailable, store.ErrUnknown), 504, problem.KindUnknownOutcome, "", ""},
		{fmt.Errorf("add: %w", store.ErrBusy), 503, problem.KindBusy, "", "1"},
		{store.ErrMember, 409, problem.KindConflict, "member", ""},
	} {
		s := serveSpread(t, &spread{Store: db, fail: test.err}, Options{})
		for _, path := range []string{readers["stream"], readers["page"], readers["fragment"], readers["graph"], readers["select"]} {
			got := s.get(path)
			got.wantError(t, test.status, test.kind, "", test.words)
			if got.header.Get("Retry-After") != test.retry || got.header.Get(response.DegradedHeader) != "" {
				t.Errorf("%s: %v", path, got.header)
			}
		}
	}
}

// A change that fails when a part of it is done says so, and never that the node was
// too busy to begin: clients would send it again.
func TestChangedPartly(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		kind   problem.Kind
	}{
		{store.ErrUnknown, 504, problem.KindUnknownOutcome}, {store.ErrUnavailable, 503, problem.KindUnavailable}, {store.ErrBusy, 503, problem.KindUnavailable},
	} {
		s := serveSpread(t, &spread{Store: newStore(t), after: -1, failApply: test.err}, Options{})
		for path, contentType := range map[string]string{"/sparql": "application/sparql-update", "/data?default": "text/turtle"} {
			body := map[string]string{"/sparql": "INSERT DATA { <x:a> <x:b> 1, 2, 3 }", "/data?default": "<x:a> <x:c> 1, 2, 3 ."}[path]
			got := s.do("POST", path, body, "Content-Type", contentType)
			got.wantError(t, test.status, test.kind, "", "(3 triples were changed before)")
			if e := got.wireError(t); e.Done != 3 {
				t.Errorf("%s: %+v", path, e)
			}
		}
	}
}

// members is a cluster that notes what it is asked.
type members struct {
	self  trie.MachineID
	asked []string
	err   error
	alone bool // NoMajority
	// peers are the other members; one that is nil is down. answers has what this one answers them.
	peers   map[trie.MachineID]func(ctx context.Context, method string, body []byte) ([]byte, error)
	answers map[string]func(context.Context, []byte) ([]byte, error)
}

func (m *members) MachineID() trie.MachineID { return m.self }

func (m *members) Leave(_ context.Context, id trie.MachineID) error {
	m.asked = append(m.asked, "leave "+id.String())
	return m.err
}

func (m *members) Remove(_ context.Context, id trie.MachineID) error {
	m.asked = append(m.asked, "remove "+id.String())
	return m.err
}

func (m *members) AcceptLoss(context.Context) error {
	m.asked = append(m.asked, "accept-loss")
	return m.err
}

func (m *members) SetCopies(_ context.Context, n int) error {
	m.asked = append(m.asked, fmt.Sprintf("copies %d", n))
	return m.err
}

func (m *members) CutOff() error { return nil }

func (m *members) NoMajority() bool { return m.alone }

func (m *members) Address() string { return "10.0.0.1:7333" }

func (m *members) EachMember(ctx context.Context, method string, body []byte, take func(api.Member, []byte, error)) error {
	if m.err != nil {
		return m.err
	}
	for id, peer := range m.peers {
		answer, err := []byte(nil), error(errors.New("the machine is down"))
		if peer != nil {
			answer, err = peer(ctx, method, body)
		}
		take(api.Member{ID: id.String(), Address: fmt.Sprintf("10.0.0.%d:7333", id)}, answer, err)
	}
	return nil
}

func (m *members) AnswerMembers(method string, h func(context.Context, []byte) ([]byte, error)) {
	if m.answers == nil {
		m.answers = map[string]func(context.Context, []byte) ([]byte, error){}
	}
	m.answers[method] = h
}

// answer answers a message of another member.
func (m *members) answer(ctx context.Context, method string, body []byte) ([]byte, error) {
	return m.answers[method](ctx, body)
}

func (m *members) IsAlone() bool { return false }

// TestPartsOfMembers: lists of queries and of activity have the part of each member, and name those that are down. A query of
// another member is stopped there.
func TestPartsOfMembers(t *testing.T) {
	// 1. Two nodes that reach each other, and a third that is down.
	first, second := &members{self: 1}, &members{self: 2}
	first.peers = map[trie.MachineID]func(context.Context, string, []byte) ([]byte, error){2: second.answer, 3: nil}
	db := newStore(t)
	fill(t, db, 300, 1)
	a := serveSpread(t, &spread{Store: newStore(t), after: -1, others: []trie.MachineID{2, 3}}, Options{Cluster: first})
	b := serveSpread(t, &spread{Store: db, after: -1}, Options{Cluster: second, SlowQuery: time.Nanosecond})
	ended := make(chan answer, 1)
	go func() { ended <- b.get(target("/sparql", "query", counted)) }()
	type member struct {
		Machine, Node    string
		QueriesRunning   int
		Seconds          float64
		Memory, Requests int64
	}
	type list struct {
		Running, Slow []struct {
			ID, Machine, Node string
		}
		Members []member
		Absent  []struct{ Machine, Node, Error string }
	}
	read := func(path string) (all list) {
		got := a.get(path)
		if err := json.Unmarshal([]byte(got.body), &all); err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s: %v", path, got.status, got.body, err)
		}
		if len(all.Absent) != 1 || all.Absent[0].Machine != trie.MachineID(3).String() || all.Absent[0].Error != "the machine is down" {
			t.Errorf("%s: absent are %+v", path, all.Absent)
		}
		return all
	}
	// 2. The first one lists the query of the second.
	var running list
	await.Condition(t, "the query to run", func() bool { running = read("/queries"); return len(running.Running) == 1 })
	q := running.Running[0]
	if q.Machine != trie.MachineID(2).String() || q.Node != "10.0.0.2:7333" {
		t.Errorf("listed as %+v", q)
	}
	var all []member
	await.Condition(t, "the query to have its turn", func() bool {
		all = read("/cluster/activity").Members
		return len(all) != 2 || all[1].QueriesRunning == 1
	})
	if len(all) != 2 || all[0].Machine != trie.MachineID(1).String() || all[0].Seconds <= 0 || all[0].Requests == 0 || all[0].Memory == 0 {
		t.Errorf("activity %+v", all)
	}
	// 3. It stops it there, once.
	stop := func() answer { return a.do("DELETE", "/queries/"+q.ID, "") }
	if got := stop(); got.status != http.StatusOK || !strings.Contains(got.body, q.Machine) || !strings.Contains(got.body, q.Node) {
		t.Errorf("stopped: %d %s", got.status, got.body)
	}
	(<-ended).wantError(t, http.StatusConflict, problem.KindStopped, "", "an operator of the node has stopped it")
	b.idle()
	// 4. It may run at the third one, until that is no member.
	stop().wantError(t, http.StatusServiceUnavailable, problem.KindUnavailable, q.ID, "it may run at 10.0.0.3:7333 (the machine is down)")
	if slow := read("/queries").Slow; len(slow) != 1 || slow[0].ID != q.ID || slow[0].Machine != q.Machine {
		t.Errorf("slow are %+v", slow)
	}
	delete(first.peers, 3)
	stop().wantError(t, http.StatusNotFound, problem.KindNotFound, q.ID, "no query with this ID runs")
	// 5. While the first one does not know the members, it has no complete list.
	first.err = fmt.Errorf("%w: no view", store.ErrUnavailable)
	for _, got := range []answer{a.get("/queries"), a.get("/cluster/activity"), stop()} {
		got.wantError(t, http.StatusServiceUnavailable, problem.KindUnavailable, "", "no view")
	}
}

// TestActivityFigures: each figure is that of a metric. What a member of an older release does not report is left out.
func TestActivityFigures(t *testing.T) {
	c := &members{self: 1, peers: map[trie.MachineID]func(context.Context, string, []byte) ([]byte, error){
		2: func(context.Context, string, []byte) ([]byte, error) { return []byte(`{"seconds":1,"memory":7}`), nil }}}
	db := newStore(t)
	fill(t, db, 30, 1)
	s := serveSpread(t, &spread{Store: db, after: -1}, Options{Cluster: c})
	if got := s.do("POST", "/sparql", "INSERT { ?s <x:new> ?o } WHERE { ?s ?p ?o }", "Content-Type", "application/sparql-update"); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	if got := s.get(target("/sparql", "query", "SELECT * { ?s <x:new> ?o }")); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	s.idle()
	var all struct{ Members []map[string]any }
	got := s.get("/cluster/activity")
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || len(all.Members) != 2 {
		t.Fatalf("%v: %s", err, got.body)
	}
	local, older := all.Members[0], all.Members[1]
	for _, name := range []string{"seconds", "processorSeconds", "memory", "requests", "requestsInFlight", "queries", "rowsRead", "bytesWritten"} {
		if n, _ := local[name].(float64); n <= 0 {
			t.Errorf("%s is %v", name, local[name])
		}
	}
	_, has := local["compactionDebt"]
	if _, lacks := older["compactionDebt"]; !has || lacks || older["memory"] != 7.0 || older["node"] != "10.0.0.2:7333" {
		t.Errorf("activity %v", all.Members)
	}
}

// Answers without a majority have the header of that.
func TestNoMajority(t *testing.T) {
	c := &members{}
	s := serveSpread(t, &spread{Store: newStore(t), after: -1}, Options{Cluster: c})
	for _, alone := range []bool{false, true} {
		c.alone = alone
		want := map[bool]string{true: "none"}[alone]
		for _, path := range []string{"/triples", "/count", "/range?order=spo", "/status"} {
			if got := s.get(path); got.status != http.StatusOK || got.header.Get(response.MajorityHeader) != want {
				t.Errorf("%s: %d, %q, want %q", path, got.status, got.header.Get(response.MajorityHeader), want)
			}
		}
	}
}

func TestMembers(t *testing.T) {
	db := newStore(t)
	id := db.MachineID()
	c := &members{self: id}
	s := serveSpread(t, &spread{Store: db}, Options{Cluster: c})
	for _, path := range []string{"/cluster/leave", "/cluster/leave?machine=" + id.String(), "/cluster/remove?machine=" + id.String(), "/cluster/accept-loss", "/cluster/copies?copies=4"} {
		got := s.do("POST", path, "")
		var status api.Status
		if err := json.Unmarshal([]byte(got.body), &status); err != nil || got.status != 200 || status.Cluster != "photos" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if want := fmt.Sprintf("[leave %s leave %[1]s remove %[1]s accept-loss copies 4]", id); fmt.Sprint(c.asked) != want {
		t.Errorf("asked %v, want %s", c.asked, want)
	}
	c.asked = nil
	s.do("POST", "/cluster/remove", "").wantError(t, 400, problem.KindBadParameter, "machine", "missing")
	s.do("POST", "/cluster/leave?machine=nonsense", "").wantError(t, 400, problem.KindBadParameter, "machine", "")
	s.do("POST", "/cluster/leave?machine="+(id+1).String(), "").wantError(t, 404, problem.KindNotFound, "machine", "members are "+id.String())
	s.get("/cluster/leave").wantError(t, 405, problem.KindMethod, "", "POST")
	s.do("POST", "/cluster/leave", "", "Origin", "http://elsewhere.example").wantError(t, 403, problem.KindForbidden, "Origin", "")
	if len(c.asked) != 0 {
		t.Errorf("asked %v", c.asked)
	}
	c.err = fmt.Errorf("%w: it is the last that holds data", store.ErrInvalid)
	s.do("POST", "/cluster/leave", "").wantError(t, 400, problem.KindBadRequest, "", "the last")

	secret := serveSpread(t, &spread{Store: db}, Options{Cluster: c, Token: "secret"})
	secret.do("POST", "/cluster/leave", "").wantError(t, 401, problem.KindUnauthorized, "Authorization", "")
	secret.get("/cluster/status").wantError(t, 401, problem.KindUnauthorized, "Authorization", "")
	readOnly := serveSpread(t, &spread{Store: db}, Options{Cluster: c, ReadOnly: true})
	readOnly.do("POST", "/cluster/leave", "").wantError(t, 403, problem.KindReadOnly, "", "")
}

// A node that is alone says so, whether it could become a member or not.
func TestNoMembers(t *testing.T) {
	for _, c := range []Cluster{nil, &members{}} {
		s, _ := serveTriples(t, "", Options{Cluster: c})
		for _, path := range []string{"/cluster/leave", "/cluster/remove?machine=0000000000000001"} {
			s.do("POST", path, "").wantError(t, 409, problem.KindConflict, "", "not part of a cluster")
		}
		// The free bytes of the disk change between two answers.
		read := func(path string) (status api.Status) {
			got := s.get(path)
			if err := json.Unmarshal([]byte(got.body), &status); err != nil || got.status != 200 || status.FreeBytes <= 0 {
				t.Errorf("%s: %d %s: %v", path, got.status, got.body, err)
			}
			status.FreeBytes = 0
			return status
		}
		if one, other := read("/cluster/status"), read("/status"); !reflect.DeepEqual(one, other) {
			t.Errorf("/cluster/status is %+v, /status %+v", one, other)
		}
	}
}

// A cluster's members have addresses of their own.
func TestStatusOfCluster(t *testing.T) {
	s := serveSpread(t, &spread{Store: newStore(t)}, Options{})
	var status api.Status
	if err := json.Unmarshal([]byte(s.get("/cluster/status").body), &status); err != nil {
		t.Fatal(err)
	}
	if m := status.Members[0]; m.Address != "10.0.0.1:7333" || m.Walk == nil || m.Walk.Left != 7 || status.Phase != "fill" {
		t.Errorf("%+v", status)
	}
}

func TestCollectors(t *testing.T) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "trefoil_cluster_members", Help: "Members."})
	gauge.Set(5)
	s, store := serveTriples(t, "", Options{Collectors: []prometheus.Collector{gauge}})
	if got := s.get("/metrics").body; !strings.Contains(got, "\ntrefoil_cluster_members 5\n") || !strings.Contains(got, "\ntrefoil_store_triples 0\n") {
		t.Errorf("%s", got)
	}
	if _, err := New(store, Options{Collectors: []prometheus.Collector{gauge, gauge}}); err == nil {
		t.Error("a collector is taken twice")
	}
}
