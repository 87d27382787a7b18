// What a check finds.

package history

import (
	"fmt"
	"slices"
	"strings"
)

// Anomaly is something that a store with the broken levels never does.
type Anomaly struct {
	// Name is one of the constants of this package, or another package's. That of a cycle ends in
	// -process or -realtime if it has an edge of that order.
	Name string
	// Weakest is the weakest level that the anomaly breaks. It also breaks all that include it.
	Weakest Level
	Txns    []int  // numbers of the transactions
	Text    string // explains it
}

// Report has the anomalies of a history. The zero value has none.
type Report struct {
	Committed int // transactions, and unknown ones with an effect that was read
	Anomalies []Anomaly

	seen  map[string]bool // by name and transactions
	count map[kind]int
}

// kind is a kind of anomalies.
type kind struct {
	name    string
	weakest Level
}

// maxExamples bounds the anomalies of one kind, because more explain no more.
const maxExamples = 5

// Add adds an anomaly unless the same transactions have one of that name, or there are enough examples. So
// the report of a broken store stays short, and each broken level has an anomaly.
func (r *Report) Add(a Anomaly) {
	if r.seen == nil {
		r.seen, r.count = map[string]bool{}, map[kind]int{}
	}
	k := kind{a.Name, a.Weakest}
	if r.count[k] == maxExamples {
		return
	}
	id := fmt.Sprint(k, slices.Sorted(slices.Values(a.Txns)))
	if r.seen[id] {
		return
	}
	r.seen[id] = true
	r.count[k]++
	r.Anomalies = append(r.Anomalies, a)
}

// add adds an anomaly of this package.
func (r *Report) add(name, text string, txns ...int) {
	r.Add(Anomaly{Name: name, Weakest: weakestBroken(name), Txns: slices.Clone(txns), Text: text})
}

// Violations returns the anomalies that break a level.
func (r Report) Violations(l Level) (all []Anomaly) {
	for _, a := range r.Anomalies {
		if l.Includes(a.Weakest) {
			all = append(all, a)
		}
	}
	return all
}

// Names returns the names of the anomalies, sorted, each once.
func (r Report) Names() (all []string) {
	for _, a := range r.Anomalies {
		all = append(all, a.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String returns an anomaly with its name and the weakest level that it breaks.
func (a Anomaly) String() string {
	return fmt.Sprintf("%s (breaks %s): %s", a.Name, a.Weakest, a.Text)
}

// Describe returns anomalies with the transactions of each, for the log of a test.
func Describe(h []Txn, anomalies []Anomaly) string {
	var b strings.Builder
	for _, a := range anomalies {
		fmt.Fprintln(&b, a)
		for _, t := range a.Txns {
			fmt.Fprintf(&b, "\tT%d %s\n", t, h[t])
		}
	}
	return b.String()
}
