// Patterns, scans, counts and queries.

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/triple"
)

// questionRows is the most rows of an answer.
const questionRows = 100

// patterns are the measured patterns, with the order that answers each.
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

// reads measures patterns, scans, counts and queries over HTTP.
func (b *bench) reads(ctx context.Context) error {
	file, err := b.Data(ctx, "lubm", b.sizes.triples)
	if err != nil {
		return err
	}
	questions, err := rig.Sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 1)))
	if err != nil {
		return err
	}
	alone := map[string]float64{} // what one node takes, by what is measured
	for _, n := range b.sizes.readNodes {
		if err := b.readsOf(ctx, n, file, questions, alone); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func (b *bench) readsOf(ctx context.Context, n int, file string, questions []triple.Triple, alone map[string]float64) error {
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.load(ctx, file)
	if err != nil {
		return err
	}
	r := &readings{b: b, n: n, alone: alone, client: rig.NewHTTP(1)}
	defer r.client.CloseIdleConnections()
	if _, err := c.Rest(ctx); err != nil {
		return err
	}
	if n == 1 {
		if err := r.patterns(ctx, questions, "", func(triple.Order, triple.Triple) *rig.Machine { return c.Machines[0] }); err != nil {
			return err
		}
	} else if err := r.owned(ctx, c, questions); err != nil {
		return err
	}
	if err := r.scans(ctx, c.Machines[0], l.Read); err != nil {
		return err
	}
	return r.queries(ctx, c.Machines[0])
}

// readings are measured one after the other by one client, of clusters of n nodes.
type readings struct {
	b      *bench
	n      int
	alone  map[string]float64
	client *http.Client
}

// owned asks each question of the machine that owns its answer, and of another.
func (r *readings) owned(ctx context.Context, c *cluster, questions []triple.Triple) error {
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	err = r.patterns(ctx, questions, ", from its owner", l.owner)
	if err != nil {
		return err
	}
	return r.patterns(ctx, questions, ", from another node", func(o triple.Order, t triple.Triple) *rig.Machine {
		i := slices.Index(c.Machines, l.owner(o, t))
		return c.Machines[(i+1+len(t.Object.Value())%(r.n-1))%r.n]
	})
}

// patterns asks every question twice; the second time counts.
func (r *readings) patterns(ctx context.Context, questions []triple.Triple, how string, from func(triple.Order, triple.Triple) *rig.Machine) error {
	for _, p := range patterns {
		var took rig.Times
		for range 2 {
			took = took[:0]
			for _, t := range questions {
				q := p.of(t)
				q.Set("limit", strconv.Itoa(questionRows))
				at := time.Now()
				if _, err := rig.GetLines(ctx, r.client, from(p.order, t).URL()+"/triples?"+q.Encode()); err != nil {
					return err
				}
				took = append(took, time.Since(at))
			}
		}
		r.add(fmt.Sprintf("pattern %s, first %d rows", p.name, questionRows), how, took.Quantile(0.5), "2x of one node",
			fmt.Sprintf("p95 %.2f ms", rig.Millis(took.Quantile(0.95))))
	}
	return nil
}

// add adds a time, also as a multiple of the time of one node.
func (r *readings) add(what, how string, took time.Duration, target, detail string) {
	f := rig.Figure{What: what + how, Nodes: r.n, Value: rig.Millis(took), Unit: "ms", Detail: detail}
	if took >= 10*time.Second {
		f.Value, f.Unit = took.Seconds(), "s"
	}
	if one := r.alone[what]; r.n > 1 && one > 0 {
		f.Target = target
		f.Detail = fmt.Sprintf("%s; %s", ofOne(rig.Millis(took), one), detail)
	} else if r.n == 1 {
		r.alone[what] = rig.Millis(took)
	}
	r.b.Report.Add(f)
}

// scans reads all rows in order, and counts them, twice each; the faster counts.
func (r *readings) scans(ctx context.Context, m *rig.Machine, rows int64) error {
	for _, s := range []struct{ what, path, target string }{
		{"ordered scan of everything, as N-Quads", "/range?order=spo", "1.5x of one node"},
		{"count of everything", "/count", ""},
	} {
		best := time.Duration(0)
		for range 2 {
			at := time.Now()
			lines, err := rig.GetLines(ctx, r.client, m.URL()+s.path)
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
		r.add(s.what, "", best, s.target, rig.Thousands(rig.PerSecond(rows, best))+" triples/s")
	}
	return nil
}

// queryTime limits the repetitions of a query.
const queryTime = 2 * time.Second

func (r *readings) queries(ctx context.Context, m *rig.Machine) error {
	for _, q := range rig.QueriesNamed("LUBM 1:", "LUBM 4:", "LUBM 8:", "LUBM 9:", "LUBM 14:", "count: everything") {
		address := m.URL() + "/sparql?" + url.Values{"query": {rig.QueryPrefixes + q.Text}}.Encode()
		if _, err := rig.GetLines(ctx, r.client, address); err != nil { // warms the caches
			return fmt.Errorf("%s: %w", q.Name, err)
		}
		var took rig.Times
		var rows int64
		for begun := time.Now(); len(took) < 5 && (len(took) == 0 || time.Since(begun) < queryTime); {
			at := time.Now()
			lines, err := rig.GetLines(ctx, r.client, address)
			if err != nil {
				return fmt.Errorf("%s: %w", q.Name, err)
			}
			rows = lines - 1
			took = append(took, time.Since(at))
		}
		r.add(q.Name, "", took.Quantile(0.5), "", rig.Thousands(float64(rows))+" rows")
	}
	return nil
}
