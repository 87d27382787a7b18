package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// questionRows is how many rows of each answer are asked for, at most.
const questionRows = 100

// patterns are the bound patterns that are measured, and the order that answers
// each.
var patterns = []struct {
	name  string
	order triple.Order
	of    func(t triple.Triple) url.Values
}{
	{"s ? ?", triple.SPO, func(t triple.Triple) url.Values { return url.Values{"s": {t.Subject.String()}} }},
	{"? p o", triple.POS, func(t triple.Triple) url.Values {
		return url.Values{"p": {t.Predicate.String()}, "o": {t.Object.String()}}
	}},
}

// queries are SPARQL queries on the LUBM-like data: selective ones, joins, a scan
// and a count.
var queries = []struct{ name, text string }{
	{"LUBM 1: graduate students of a course",
		`SELECT ?x { ?x a u:GraduateStudent ; u:takesCourse <http://www.Department0.University0.edu/GraduateCourse0> }`},
	{"LUBM 4: professors of a department (star of 5)",
		`SELECT ?x ?n ?e ?t { ?x u:worksFor <http://www.Department0.University0.edu> ; a ?c ; u:name ?n ; u:emailAddress ?e ; u:telephone ?t
		 VALUES ?c { u:FullProfessor u:AssociateProfessor u:AssistantProfessor } }`},
	{"LUBM 8: students of a university with mail addresses",
		`SELECT ?x ?y ?e { ?y u:subOrganizationOf <http://www.University0.edu> ; a u:Department . ?x u:memberOf ?y ; u:emailAddress ?e }`},
	{"LUBM 9: students in a course of their adviser (triangle)",
		`SELECT ?x ?y ?z { ?x u:advisor ?y . ?y u:teacherOf ?z . ?x u:takesCourse ?z }`},
	{"LUBM 14: all undergraduates", `SELECT ?x { ?x a u:UndergraduateStudent }`},
	{"count: everything", `SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`},
}

const queryPrefixes = "PREFIX u: <http://trefoil.example/onto/univ-bench.owl#>\n"

// reads measures patterns, scans, counts and queries through the doors.
func (b *bench) reads(ctx context.Context) error {
	file, err := b.data(ctx, b.sizes.triples)
	if err != nil {
		return err
	}
	asked, err := sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.seed, 1)))
	if err != nil {
		return err
	}
	alone := map[string]float64{} // what one node takes, by what is measured
	for _, n := range b.sizes.readNodes {
		if err := b.readsOf(ctx, n, file, asked, alone); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func (b *bench) readsOf(ctx context.Context, n int, file string, asked []triple.Triple, alone map[string]float64) error {
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.close()
	l, err := c.load(ctx, file)
	if err != nil {
		return err
	}
	r := &readings{b: b, n: n, alone: alone, client: newHTTP(1)}
	defer r.client.CloseIdleConnections()
	if _, err := c.rest(ctx); err != nil {
		return err
	}
	if n == 1 {
		if err := r.patterns(ctx, asked, "", func(triple.Order, triple.Triple) *machine { return c.machines[0] }); err != nil {
			return err
		}
	} else if err := r.owned(ctx, c, asked); err != nil {
		return err
	}
	if err := r.scans(ctx, c.machines[0], l.Read); err != nil {
		return err
	}
	return r.queries(ctx, c.machines[0])
}

// readings are measured one after the other by one client, of clusters of n nodes.
type readings struct {
	b      *bench
	n      int
	alone  map[string]float64
	client *http.Client
}

// owned asks each question of the machine that owns its answer, and of another.
func (r *readings) owned(ctx context.Context, c *cluster, asked []triple.Triple) error {
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	err = r.patterns(ctx, asked, ", from its owner", l.owner)
	if err != nil {
		return err
	}
	return r.patterns(ctx, asked, ", from another node", func(o triple.Order, t triple.Triple) *machine {
		i := slices.Index(c.machines, l.owner(o, t))
		return c.machines[(i+1+len(t.Object.Value())%(r.n-1))%r.n]
	})
}

// patterns asks every question twice; the second time counts.
func (r *readings) patterns(ctx context.Context, asked []triple.Triple, how string, from func(triple.Order, triple.Triple) *machine) error {
	for _, p := range patterns {
		var took times
		for range 2 {
			took = took[:0]
			for _, t := range asked {
				q := p.of(t)
				q.Set("limit", strconv.Itoa(questionRows))
				at := time.Now()
				if _, err := get(ctx, r.client, from(p.order, t).url()+"/triples?"+q.Encode()); err != nil {
					return err
				}
				took = append(took, time.Since(at))
			}
		}
		r.add(fmt.Sprintf("pattern %s, first %d rows", p.name, questionRows), how, took.quantile(0.5), "2x of one node",
			fmt.Sprintf("p95 %.2f ms", millis(took.quantile(0.95))))
	}
	return nil
}

// add adds a time, and what multiple of one node's it is.
func (r *readings) add(what, how string, took time.Duration, asked, detail string) {
	f := figure{What: what + how, Nodes: r.n, Value: millis(took), Unit: "ms", Detail: detail}
	if took >= 10*time.Second {
		f.Value, f.Unit = took.Seconds(), "s"
	}
	if one := r.alone[what]; r.n > 1 && one > 0 {
		f.Asked = asked
		f.Detail = fmt.Sprintf("%s; %s", ofOne(millis(took), one), detail)
	} else if r.n == 1 {
		r.alone[what] = millis(took)
	}
	r.report().add(f)
}

func (r *readings) report() *report { return &r.b.report }

// scans reads all rows in order, and counts them, twice each; the faster counts.
func (r *readings) scans(ctx context.Context, m *machine, rows int64) error {
	for _, s := range []struct{ what, path, asked string }{
		{"ordered scan of everything, as N-Quads", "/range?order=spo", "1.5x of one node"},
		{"count of everything", "/count", ""},
	} {
		best := time.Duration(0)
		for range 2 {
			at := time.Now()
			lines, err := get(ctx, r.client, m.url()+s.path)
			if err != nil {
				return err
			}
			if s.path != "/count" && (lines > rows || lines < rows-rows/100) {
				return fmt.Errorf("%s: %d rows, %d statements were loaded", s.path, lines, rows)
			}
			if took := time.Since(at); best == 0 || took < best {
				best = took
			}
		}
		r.add(s.what, "", best, s.asked, thousands(perSecond(rows, best))+" triples/s")
	}
	return nil
}

// queryFor is how long a query is asked again.
const queryFor = 2 * time.Second

func (r *readings) queries(ctx context.Context, m *machine) error {
	for _, q := range queries {
		address := m.url() + "/sparql?" + url.Values{"query": {queryPrefixes + q.text}}.Encode()
		if _, err := get(ctx, r.client, address); err != nil { // warms the caches
			return fmt.Errorf("%s: %w", q.name, err)
		}
		var took times
		var rows int64
		for begun := time.Now(); len(took) < 5 && (len(took) == 0 || time.Since(begun) < queryFor); {
			at := time.Now()
			lines, err := get(ctx, r.client, address)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			rows = lines - 1
			took = append(took, time.Since(at))
		}
		r.add(q.name, "", took.quantile(0.5), "", thousands(float64(rows))+" rows")
	}
	return nil
}

// newHTTP returns a client with so many connections to each node.
func newHTTP(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
}

// get reads an answer to its end and returns how many lines it has: of triples as
// N-Quads, of solutions as tab-separated values.
func get(ctx context.Context, c *http.Client, address string) (lines int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/n-quads, text/tab-separated-values, application/json;q=0.1")
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // what came is better than nothing
		return 0, fmt.Errorf("%s: %s: %s", address, resp.Status, text)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}
