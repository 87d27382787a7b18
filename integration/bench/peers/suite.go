// The flags of the suite, its data sets and the order of its work.

// Package peers measures trefoil beside other RDF stores: the same files, the same queries over
// HTTP on one machine, one system after the other.
//
// scripts/peers.sh installs the peers. Each system loads a file, answers each query of the suites
// some times, and stops before the next one starts. The answers are compared as multisets of rows;
// a peer outside of the majority is named and does not count as the best. The ratio of a query is
// trefoil's median as a multiple of the best peer's. The file ratios.txt has the committed ratios,
// and the bench fails if one has grown by more than a fifth after a second measurement.
//
// The suites are [lubm] with the shapes that a planner must get right, and BSBM's explore and
// business intelligence use cases on generated data. With -bsbm, data and queries come from a
// folder: explore/query1.txt ..., bi/query1.txt ..., and one file of data. With -own, everything comes
// from a folder: one file of data, and a folder of queries, *.rq or *.txt, for each suite.
package peers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	peers    string // folder of scripts/peers.sh
	triples  int64  // of each generated data set
	bsbm     string // folder of BSBM's data and queries, "" for generated ones
	own      string // folder of other data and queries; "" for the suites of this package
	names    string // of the systems to measure
	ratios   string
	docs     string
	explain  string
	deadline time.Duration
	minTime  time.Duration // of all runs of a query
	rounds   int
	update   bool
	mixes    bool
	only     *regexp.Regexp
	loaded   map[string]bool // stores that this run has loaded
}

// data is one file, and the suites on it.
type data struct {
	file   string
	size   string // part of the keys of queries, because ratios depend on it
	suites []suite
	mix    []query // nil if there is none
}

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	b := &bench{loaded: map[string]bool{}}
	b.Flags(f, "trefoil-bench-peers", "some 500 MB at the default size")
	f.StringVar(&b.peers, "peers", ".peers", "`folder` into which scripts/peers.sh has installed the peers")
	f.Int64Var(&b.triples, "triples", 100_000, "size of the LUBM-like and of the BSBM-like data")
	f.StringVar(&b.bsbm, "bsbm", os.Getenv("TREFOIL_BSBM"), "`folder` of BSBM's data and queries instead of the generated ones; $TREFOIL_BSBM")
	f.StringVar(&b.own, "own", "", "`folder` of one file *.nt or *.ttl.gz and of suites, which are folders of queries, to measure instead")
	f.StringVar(&b.names, "systems", "trefoil,virtuoso,fuseki,oxigraph", "which `systems` to measure")
	f.StringVar(&b.ratios, "ratios", "integration/bench/peers/ratios.txt", "`file` of the committed ratios")
	f.StringVar(&b.docs, "docs", "integration/bench/peers/README.md", "`file` whose table -update writes")
	f.StringVar(&b.explain, "explain", "", "`folder` for trefoil's plans of the queries with the ten largest ratios")
	f.DurationVar(&b.deadline, "deadline", time.Minute, "maximum duration of all runs of a query")
	f.DurationVar(&b.minTime, "time", 200*time.Millisecond, "minimum duration of all runs of a query")
	f.IntVar(&b.rounds, "rounds", 1, "how many times each system is measured; the better median counts")
	f.BoolVar(&b.update, "update", false, "write the ratios and, without -queries, the table")
	f.BoolVar(&b.mixes, "mix", true, "measure the mix of BSBM too")
	only := f.String("queries", "", "`expression` of the keys of queries to measure, such as ^lubm-.*/path-")
	return func(ctx context.Context, _ []string) (err error) {
		if b.only, err = regexp.Compile(*only); err != nil {
			return fmt.Errorf("-queries: %w", err)
		}
		return b.run(ctx)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.peers, err = filepath.Abs(b.peers); err != nil {
		return err
	}
	if b.Dir, err = filepath.Abs(b.Dir); err != nil {
		return err
	}
	committed, err := readRatiosFile(b.ratios)
	if err != nil {
		return err
	}
	// 1. The machine, the systems and the data.
	var intro strings.Builder
	b.Report.Table = io.MultiWriter(os.Stdout, &intro)
	if err := b.Begin(""); err != nil {
		return err
	}
	b.Report.Table = os.Stdout
	t := table{intro: intro.String(), results: outcomes{}}
	for _, s := range b.systems() {
		if slices.Contains(strings.Split(b.names, ","), s.name) {
			t.systems = append(t.systems, s)
			t.results[s.name] = map[string]outcome{}
		}
	}
	data := b.data
	if b.own != "" {
		data = b.ownData
	}
	all, err := data(ctx)
	if err != nil {
		return err
	}
	// 2. Measure.
	for _, d := range all {
		if err := b.measureData(ctx, &t, d, committed); err != nil {
			return err
		}
	}
	// 3. Report.
	t.print(os.Stdout)
	if b.explain != "" {
		if err := b.explainWorst(ctx, all, t.verdicts()); err != nil {
			return err
		}
	}
	if b.update {
		return b.write(t, committed)
	}
	return t.failures(committed)
}

// measureData measures one data set on all systems. What has become slower is measured once more,
// because other work of the machine may be the reason.
func (b *bench) measureData(ctx context.Context, t *table, d data, committed map[string]float64) error {
	// 1. Each system alone. The better of all rounds counts.
	section := section{data: d, rates: map[string][]float64{}}
	for i := range b.rounds * len(t.systems) {
		s := t.systems[i%len(t.systems)]
		if err := b.measureAll(ctx, d, s, t.results, b.only.MatchString); err != nil {
			return err
		}
		if i >= len(t.systems) || d.mix == nil || !b.mixes {
			continue
		}
		rates, err := b.measureMix(ctx, d, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s has no rate of the mix: %v\n", s.name, err)
			continue
		}
		section.rates[s.name] = rates
	}
	// 2. What has become slower, once more.
	section.judge(b, t.results)
	if worse := slower(section.verdicts, committed); len(worse) > 0 {
		keys := map[string]bool{}
		for _, v := range worse {
			fmt.Fprintf(os.Stderr, "%s: %.2f, the committed ratio is %.2f; measured once more\n", v.key, v.ratio, committed[v.key])
			keys[v.key] = true
		}
		for _, s := range t.systems {
			if err := b.measureAll(ctx, d, s, t.results, func(key string) bool { return keys[key] }); err != nil {
				return err
			}
		}
		section.judge(b, t.results)
	}
	t.sections = append(t.sections, section)
	return nil
}

// data returns the data sets, of which files are made where they are missing.
func (b *bench) data(ctx context.Context) (all []data, err error) {
	// 1. The LUBM-like data.
	lubm := data{size: fmt.Sprint(b.triples)}
	if lubm.file, err = b.Data(ctx, "lubm", b.triples); err != nil {
		return nil, err
	}
	templates, err := embeddedSuite("lubm")
	if err != nil {
		return nil, err
	}
	s, err := fillSuite("lubm", templates, nil)
	if err != nil {
		return nil, err
	}
	lubm.suites = []suite{s}
	// 2. BSBM, of a folder or generated.
	var bsbm data
	if b.bsbm != "" {
		bsbm, err = b.folder(ctx)
	} else {
		bsbm, err = b.generated(ctx)
	}
	if err != nil {
		return nil, err
	}
	// 3. Without the data sets of which no query is wanted.
	return slices.DeleteFunc([]data{lubm, bsbm}, func(d data) bool {
		for _, s := range d.suites {
			if slices.ContainsFunc(s.queries, func(q query) bool { return b.only.MatchString(b.key(d, s, q)) }) {
				return false
			}
		}
		return true
	}), nil
}

// folder returns the data and the queries of -bsbm.
func (b *bench) folder(ctx context.Context) (d data, err error) {
	if err := b.dataFile(ctx, &d, b.bsbm); err != nil {
		return d, err
	}
	explore, err := folderSuite(filepath.Join(b.bsbm, "explore"))
	if err != nil {
		return d, err
	}
	bi, err := folderSuite(filepath.Join(b.bsbm, "bi"))
	if err != nil {
		return d, err
	}
	return d, d.fill(explore, bi)
}

// dataFile sets the file of d to the one in a folder, as N-Triples.
func (b *bench) dataFile(ctx context.Context, d *data, folder string) (err error) {
	found, err := filepath.Glob(filepath.Join(folder, "*.ttl.gz"))
	more, _ := filepath.Glob(filepath.Join(folder, "*.nt")) // the pattern is good
	if found = append(found, more...); err != nil || len(found) != 1 {
		return fmt.Errorf("%s: there must be one file *.ttl.gz or *.nt (%w)", folder, err)
	}
	d.size, _, _ = strings.Cut(filepath.Base(found[0]), ".")
	d.file, err = b.File(d.size+".nt", func(w io.Writer) error {
		cmd := b.Command(ctx, "convert", found[0], "--format", "nt")
		cmd.Stdout = w
		return cmd.Run()
	})
	return err
}

// ownData returns the data and the suites of -own.
func (b *bench) ownData(ctx context.Context) ([]data, error) {
	var d data
	if err := b.dataFile(ctx, &d, b.own); err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(b.own)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		s := suite{name: folder.Name()}
		found, _ := filepath.Glob(filepath.Join(b.own, s.name, "*.[rt][qx]*")) // the pattern is good
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			s.queries = append(s.queries, newQuery(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), string(text)))
		}
		d.suites = append(d.suites, s)
	}
	return []data{d}, nil
}

// generated returns generated data of BSBM's schema with the queries of this package.
func (b *bench) generated(ctx context.Context) (d data, err error) {
	d.size = fmt.Sprint(b.triples)
	if d.file, err = b.Data(ctx, "bsbm", b.triples); err != nil {
		return d, err
	}
	explore, err := embeddedSuite("explore")
	if err != nil {
		return d, err
	}
	bi, err := embeddedSuite("bi")
	if err != nil {
		return d, err
	}
	return d, d.fill(explore, bi)
}

// exploreMix is the order of queries of BSBM's explore use case.
var exploreMix = []int{1, 2, 2, 3, 2, 2, 4, 2, 2, 5, 7, 7, 5, 7, 7, 8, 9, 9, 8, 9, 9, 10, 10, 11, 12}

// mixRounds is how many times the mix has other parameters before it repeats.
const mixRounds = 40

// fill replaces the parameters of the queries.
func (d *data) fill(explore, bi []template) error {
	shop, err := readShop(d.file)
	if err != nil {
		return err
	}
	// 1. The suites, with the parameters of one product.
	n := len(shop.ids) / 3
	for _, s := range []struct {
		name      string
		templates []template
		broad     bool
	}{{"explore", explore, false}, {"bi", bi, true}} {
		filled, err := fillSuite(s.name, s.templates, shop.parameters(n, s.broad))
		if err != nil {
			return err
		}
		d.suites = append(d.suites, filled)
	}
	// 2. The mix, with those of other products for each query.
	for i := range mixRounds * len(exploreMix) {
		at := slices.IndexFunc(explore, func(t template) bool { return t.number() == exploreMix[i%len(exploreMix)] })
		if at < 0 {
			return fmt.Errorf("explore: no query %d", exploreMix[i%len(exploreMix)])
		}
		q, err := explore[at].fill(shop.parameters(i*37, false))
		if err != nil {
			return err
		}
		d.mix = append(d.mix, q)
	}
	return nil
}

// write writes the ratios and the table of a run, and keeps the ratios of what it did not measure.
func (b *bench) write(t table, ratios map[string]float64) error {
	for _, v := range t.verdicts() {
		if v.ratio > 0 {
			ratios[v.key] = v.ratio
		}
	}
	f, err := os.Create(b.ratios)
	if err != nil {
		return err
	}
	err = errors.Join(writeRatios(f, ratios), f.Close())
	if err != nil || b.only.String() != "" {
		return err // the table has all queries
	}
	return t.replaceIn(b.docs)
}
