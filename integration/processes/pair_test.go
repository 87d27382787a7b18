// What clients write to two machines and read from them.

package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

const (
	pairAdds    = 60  // triples that are added one by one
	pairUpdated = 100 // triples that one update adds, and as many that it deletes
	pairLoaded  = 300 // triples of a bulk load
	pairPages   = 20  // pages with links
)

// pair is two machines and what they hold.
type pair struct {
	t        *testing.T
	c        *cluster
	want     map[string]bool // facts, as lines of N-Quads
	internal map[string]bool // lines of links; UIDs are in no answer
	owned    int             // segments that the machine which is killed answers for, of four
}

// isInternal reports whether a line is of the hyperlink store.
func isInternal(line string) bool { return strings.Contains(line, "<urn:trefoil:") }

// answer is an answer of HTTP.
type answer struct {
	status             int
	body               string
	majority, degraded string
}

// request sends a request once and returns the answer. If there is none, the test fails.
func (p *pair) request(m *machine, method, path, contentType, body string) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), waitLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, m.url()+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return answer{}
	}
	r.Close = true
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Errorf("%s %s by machine %d: %v", method, path, m.number, err)
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Errorf("%s %s by machine %d: %v after %d bytes", method, path, m.number, err, len(text))
	}
	return answer{resp.StatusCode, string(text), resp.Header.Get("Trefoil-Majority"), resp.Header.Get("Trefoil-Degraded")}
}

// pairWrite is a change that a client sends.
type pairWrite struct {
	what, method, path, contentType, body string
	add, remove                           []string // lines
}

// write makes a change through a machine, until it is acknowledged: each may be made twice.
func (p *pair) write(m *machine, w pairWrite) {
	p.t.Helper()
	until(p.t, w.what+" through machine "+strconv.Itoa(m.number), func() error {
		if a := p.request(m, w.method, w.path, w.contentType, w.body); a.status != http.StatusOK {
			return fmt.Errorf("%d: %s", a.status, a.body)
		}
		return nil
	})
	for _, line := range w.remove {
		delete(p.want, line)
	}
	for _, line := range w.add {
		p.want[line] = true
	}
}

// lines returns n triples from a number on as N-Quads.
func lines(from, n int) (all []string) {
	for i := range n {
		all = append(all, tripleOf(from+i).String())
	}
	return all
}

func addOf(of []string) pairWrite {
	return pairWrite{"an add", http.MethodPost, "/triples", "application/n-quads", strings.Join(of, "\n"), of, nil}
}

func deleteOf(of []string) pairWrite {
	return pairWrite{"a delete", http.MethodDelete, "/triples", "application/n-quads", strings.Join(of, "\n"), nil, of}
}

func updateOf(remove, add []string) pairWrite {
	text := "DELETE DATA { " + strings.Join(remove, "\n") + " } ; INSERT DATA { " + strings.Join(add, "\n") + " }"
	return pairWrite{"an update", http.MethodPost, "/sparql", "application/sparql-update", text, add, remove}
}

func loadOf(of []string) pairWrite {
	return pairWrite{"a bulk load", http.MethodPost, "/load", "application/n-quads", strings.Join(of, "\n"), of, nil}
}

func linkOf(from, to string) pairWrite {
	return pairWrite{what: "a link", method: http.MethodPost, path: "/links/update", contentType: "application/x-ndjson",
		body: fmt.Sprintf(`{"op":"add","src":%q,"dst":[%q]}`, from, to)}
}

// pageOf returns the URL of a page. Page i links to page i+1, the last one to page 0.
func pageOf(i int) string {
	i %= pairPages
	return fmt.Sprintf("https://host%d.example.net/%d", i%3, i)
}

// fill writes through both machines. The bulk load is last, because the view changes with
// it: the UIDs of pages are of an earlier epoch then, and one machine may answer for them.
func (p *pair) fill() {
	p.t.Helper()
	machines := p.c.machines
	for i, line := range lines(0, pairAdds) {
		p.write(machines[i%2], addOf([]string{line}))
	}
	replaced, n := lines(pairAdds, pairUpdated), pairAdds+pairUpdated
	p.write(machines[0], addOf(replaced))
	p.write(machines[1], updateOf(replaced, lines(n, pairUpdated)))
	for i := range pairPages {
		p.write(machines[i%2], linkOf(pageOf(i), pageOf(i+1)))
	}
	p.write(machines[1], loadOf(lines(n+pairUpdated, pairLoaded)))
	for line := range strings.Lines(p.request(machines[0], http.MethodGet, "/range?order=spo", "", "").body) {
		if line = strings.TrimSuffix(line, "\n"); isInternal(line) {
			p.internal[line] = true
		}
	}
	if len(p.internal) != pairPages {
		p.t.Fatalf("%d lines are of %d pages", len(p.internal), pairPages)
	}
}

// settled waits until no machine has an operation of which it does not know that all copies
// have it. One that is killed before that leaves it undecided.
func (p *pair) settled() {
	p.t.Helper()
	for _, m := range p.c.machines {
		until(p.t, fmt.Sprintf("machine %d has no open writes", m.number), func() error {
			n, err := m.metric("trefoil_cluster_unsettled_batches")
			if err == nil && n != "0" {
				err = fmt.Errorf("%s batches", n)
			}
			return err
		})
	}
}

// expected returns the lines that have a term at a position, or all with those of links.
func (p *pair) expected(contains string) map[string]bool {
	want := map[string]bool{}
	for line := range p.want {
		if strings.Contains(line, contains) {
			want[line] = true
		}
	}
	if contains == "" {
		maps.Copy(want, p.internal)
	}
	return want
}

// differ says how lines of N-Quads differ from those that are wanted.
func differ(body string, want map[string]bool) error {
	got := map[string]bool{}
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case got[line]:
			return fmt.Errorf("%q comes twice", line)
		case !want[line]:
			return fmt.Errorf("%q is too many", line)
		}
		got[line] = true
	}
	for line := range want {
		if !got[line] {
			return fmt.Errorf("%d lines and not %d; %q is missing", len(got), len(want), line)
		}
	}
	return nil
}

// pairRead is a question and what is wrong with the body of its answer.
type pairRead struct {
	method, path, contentType, body string
	check                           func(body string) error
}

// reads returns one of each kind: ranges in all orders, patterns, counts, queries, links.
func (p *pair) reads() (all []pairRead) {
	get := func(path string, check func(string) error, params ...string) {
		values := url.Values{}
		for i := 0; i < len(params); i += 2 {
			values.Set(params[i], params[i+1])
		}
		all = append(all, pairRead{http.MethodGet, path + "?" + values.Encode(), "", "", check})
	}
	for _, order := range []string{"spo", "pos", "osp"} {
		get("/range", func(body string) error { return differ(body, p.expected("")) }, "order", order)
	}
	one := tripleOf(pairAdds + 2*pairUpdated + 7) // of the load
	gone := tripleOf(pairAdds + 7)                // the update deleted it
	for name, term := range map[string]triple.Term{"s": one.Subject, "p": one.Predicate, "o": one.Object} {
		want := p.expected(term.String() + " ")
		if name == "o" {
			want = map[string]bool{one.String(): true}
		}
		get("/triples", func(body string) error { return differ(body, want) }, name, term.String())
		get("/count", func(body string) error {
			if count := fmt.Sprintf(`"count":%d,`, len(want)); !strings.Contains(body, count) {
				return fmt.Errorf("%s; it is %s", body, count)
			}
			return nil
		}, name, term.String())
	}
	get("/triples", func(body string) error { return differ(body, nil) }, "s", gone.Subject.String(), "o", gone.Object.String())
	for text, want := range map[string]string{one.String(): "true", gone.String(): "false"} {
		get("/sparql", func(body string) error {
			if body = strings.ReplaceAll(body, " ", ""); !strings.Contains(body, `"boolean":`+want) {
				return fmt.Errorf("%s; it is %s", body, want)
			}
			return nil
		}, "query", "ASK { "+text+" }")
	}
	get("/sparql", p.checkSelected, "query", "SELECT ?s ?p ?o { ?s ?p ?o FILTER(STRSTARTS(STR(?p), \""+namespace+"\")) }")
	links := func(direction string, step int) {
		body := fmt.Sprintf(`{"urls":[%q],"as":"urls","direction":%q}`, pageOf(3), direction)
		want := fmt.Sprintf(`{"lists":[[%q]]}`, pageOf(3+step))
		all = append(all, pairRead{http.MethodPost, "/links/get", "application/json", body, func(body string) error {
			if strings.TrimSpace(body) != want {
				return fmt.Errorf("%s; it is %s", body, want)
			}
			return nil
		}})
	}
	links("forward", 1)
	links("backward", -1)
	return all
}

// checkSelected compares rows of ?s ?p ?o with the facts.
func (p *pair) checkSelected(body string) error {
	var rows struct {
		Results struct {
			Bindings []map[string]struct{ Value, Datatype string }
		}
	}
	if err := json.Unmarshal([]byte(body), &rows); err != nil {
		return err
	}
	var text strings.Builder
	for _, row := range rows.Results.Bindings {
		fmt.Fprintf(&text, "<%s> <%s> %q^^<%s> .\n", row["s"].Value, row["p"].Value, row["o"].Value, row["o"].Datatype)
	}
	return differ(text.String(), p.want)
}

// read asks a machine and returns its answer. wrong says what is wrong with it, err that it
// is an error.
func (p *pair) read(m *machine, r pairRead) (a answer, wrong, err error) {
	p.t.Helper()
	a = p.request(m, r.method, r.path, r.contentType, r.body)
	switch {
	case a.status == http.StatusServiceUnavailable && strings.Contains(a.body, `"kind":"unavailable"`), strings.Contains(a.body, `"kind":"loading"`):
		return a, nil, fmt.Errorf("%s: %s", r.path, a.body)
	case a.status != http.StatusOK:
		return a, fmt.Errorf("%s %s by machine %d: %d: %s", r.path, r.body, m.number, a.status, a.body), nil
	}
	if wrong = r.check(a.body); wrong != nil {
		wrong = fmt.Errorf("%s %s by machine %d: %w", r.path, r.body, m.number, wrong)
	}
	return a, wrong, nil
}

// readsAll waits until a machine answers every read with a header Trefoil-Majority, and
// returns how many said that they came from other orders. No answer on the way may be wrong.
func (p *pair) readsAll(m *machine, majority string) (degraded int) {
	p.t.Helper()
	for _, r := range p.reads() {
		until(p.t, fmt.Sprintf("machine %d answers %s %s, with %q", m.number, r.path, r.body, majority), func() error {
			a, wrong, err := p.read(m, r)
			switch {
			case wrong != nil:
				p.t.Fatal(wrong)
			case err == nil && a.majority != majority:
				err = fmt.Errorf("the header is %q", a.majority)
			case err == nil && a.degraded == "true":
				degraded++
			}
			return err
		})
	}
	return degraded
}
