// The tables of a run, and their place in a document.

package peers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// table has the results of all data sets.
type table struct {
	intro    string // the machine
	systems  []system
	results  outcomes
	sections []section
}

// section has the results of one data set.
type section struct {
	data
	verdicts []verdict            // of the measured queries
	rates    map[string][]float64 // queries a second of the mix, by system
}

// judge makes the verdicts of the section's queries.
func (s *section) judge(b *bench, results outcomes) {
	s.verdicts = nil
	for _, suite := range s.suites {
		for _, q := range suite.queries {
			if key := b.key(s.data, suite, q); b.only.MatchString(key) {
				s.verdicts = append(s.verdicts, judge(key, q.compared, results, b.deadline))
			}
		}
	}
}

// verdicts returns those of all sections.
func (t *table) verdicts() (all []verdict) {
	for _, s := range t.sections {
		all = append(all, s.verdicts...)
	}
	return all
}

// worst returns the n verdicts with the largest ratios, the largest first.
func worst(verdicts []verdict, n int) []verdict {
	sorted := slices.SortedStableFunc(slices.Values(verdicts), func(a, b verdict) int { return cmp.Compare(b.ratio, a.ratio) })
	return sorted[:min(n, len(sorted))]
}

// failures returns an error for each query that trefoil answers wrong, not at all, or slower than
// the tolerance permits.
func (t *table) failures(committed map[string]float64) (err error) {
	for _, v := range t.verdicts() {
		err = errors.Join(err, v.wrong(t.results))
	}
	for _, v := range slower(t.verdicts(), committed) {
		err = errors.Join(err, fmt.Errorf("%s: %.2f times the time of %s, the committed ratio is %.2f", v.key, v.ratio, v.best, committed[v.key]))
	}
	return err
}

// print writes the tables as Markdown.
func (t *table) print(w io.Writer) {
	// 1. The systems and their order.
	var heading, line strings.Builder
	for i, s := range t.systems {
		fmt.Fprintf(&heading, " %s |", s.name)
		line.WriteString("---|")
		if s.version != "" {
			fmt.Fprintf(w, "%s%s %s", strings.Repeat(", ", min(i-1, 1)), s.name, s.version)
		}
	}
	fmt.Fprintf(w, "; medians of warm runs over HTTP.\n\n| geometric mean, ms | queries |%s ratio to the best peer of each |\n|---|---|%s---|\n", heading.String(), line.String())
	// 2. One line a suite, and the mixes.
	for _, s := range t.sections {
		for _, suite := range s.suites {
			t.printMeans(w, suite.name+"-"+s.size, s.verdicts)
		}
	}
	for _, s := range t.sections {
		for i, clients := range mixClients {
			if s.rates[ours] == nil {
				break
			}
			fmt.Fprintf(w, "| explore mix-%s, queries/s with clients: %d | |", s.size, clients)
			best := 0.0
			for _, system := range t.systems {
				rates := s.rates[system.name]
				if rates == nil {
					fmt.Fprint(w, " - |")
					continue
				}
				fmt.Fprintf(w, " %s |", rig.Thousands(rates[i]))
				if system.name != ours {
					best = max(best, rates[i])
				}
			}
			fmt.Fprintf(w, " %.2f |\n", rig.Ratio(best, s.rates[ours][i]))
		}
	}
	// 3. One line a query.
	fmt.Fprintf(w, "\n| query, ms | rows |%s ratio to the best peer |\n|---|---|%s---|\n", heading.String(), line.String())
	for _, v := range t.verdicts() {
		fmt.Fprintf(w, "| %s | %d |%s %s |\n", v.key, v.rows, t.medians(v), ratioText(v.ratio))
	}
	// 4. What differs.
	for _, v := range t.verdicts() {
		for _, name := range sortedKeys(v.different) {
			fmt.Fprintf(os.Stderr, "%s: %s differs: %s\n", v.key, name, v.different[name])
		}
	}
}

// printMeans prints the line of a suite: the means over the queries that all systems answer, and
// the mean ratio over all queries that have one.
func (t *table) printMeans(w io.Writer, suite string, verdicts []verdict) {
	times, ratios := map[string][]float64{}, []float64{}
	shared, all := 0, 0
	for _, v := range verdicts {
		if !strings.HasPrefix(v.key, suite+"/") {
			continue
		}
		all++
		if v.ratio > 0 {
			ratios = append(ratios, v.ratio)
		}
		// The means of systems compare only if they are over the same queries.
		if len(v.medians) < len(t.systems) {
			continue
		}
		shared++
		for name, median := range v.medians {
			times[name] = append(times[name], rig.Millis(median))
		}
	}
	if all == 0 {
		return
	}
	fmt.Fprintf(w, "| %s | %d of %d |", suite, shared, all)
	for _, s := range t.systems {
		fmt.Fprintf(w, " %.2f |", geometricMean(times[s.name]))
	}
	fmt.Fprintf(w, " %s |\n", ratioText(geometricMean(ratios)))
}

// medians returns the cells of a query: - stands for no answer, * for one that differs.
func (t *table) medians(v verdict) string {
	var cells strings.Builder
	for _, s := range t.systems {
		median, ok := v.medians[s.name]
		switch {
		case !ok:
			cells.WriteString(" - |")
		case v.different[s.name] != "":
			fmt.Fprintf(&cells, " %.2f * |", rig.Millis(median))
		default:
			fmt.Fprintf(&cells, " %.2f |", rig.Millis(median))
		}
	}
	return cells.String()
}

func ratioText(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// The lines of a document between which the tables stand.
const (
	tableBegin = "<!-- begin: make bench-peers -->\n"
	tableEnd   = "<!-- end: make bench-peers -->\n"
)

// replaceIn writes the tables into a document.
func (t *table) replaceIn(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var tables bytes.Buffer
	tables.WriteString(t.intro)
	t.print(&tables)
	replaced, err := replaceBlock(string(text), tables.String())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(replaced), 0o644)
}

// replaceBlock replaces what stands between the marks of a document.
func replaceBlock(text, block string) (string, error) {
	before, rest, ok := strings.Cut(text, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return "", fmt.Errorf("the lines %q and %q are missing", strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return before + tableBegin + block + tableEnd + after, nil
}
