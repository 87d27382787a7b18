// What the outcomes of all systems mean: who differs, the best peer, the ratio.

package peers

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// verdict is one query on all systems.
type verdict struct {
	key       string
	rows      int
	medians   map[string]time.Duration // of the systems that have an answer
	different map[string]string        // what the systems outside of the majority have
	best      string                   // the fastest peer that does not differ, "" if there is none
	ratio     float64                  // of trefoil's median to that of the best peer, 0 if there is none
}

// judge compares the outcomes of a query. A query that trefoil does not answer has the ratio of the
// deadline.
func judge(key string, compared comparison, results outcomes, deadline time.Duration) verdict {
	// 1. Compare the answers.
	v := verdict{key: key, medians: map[string]time.Duration{}}
	answers := map[string]answer{}
	for name, byKey := range results {
		o, ok := byKey[key]
		if !ok || o.err != nil {
			continue
		}
		v.medians[name] = o.median
		switch compared {
		case allRows:
			answers[name] = o.answer
		case rowCounts:
			answers[name] = answer{fmt.Sprintf("%d rows", len(o.answer))}
		}
	}
	v.different = differences(answers)
	v.rows = len(results[ours][key].answer)
	// 2. Find the best peer. One that differs does less or other work.
	for _, name := range sortedKeys(v.medians) {
		if name == ours || v.different[name] != "" {
			continue
		}
		if v.best == "" || v.medians[name] < v.medians[v.best] {
			v.best = name
		}
	}
	// 3. The ratio.
	o, ok := results[ours][key]
	if ok && o.err != nil {
		o.median = deadline
	}
	if ok && v.best != "" {
		v.ratio = float64(o.median) / float64(v.medians[v.best])
	}
	return v
}

// wrong returns an error if trefoil has no answer, or one that most systems do not have.
func (v verdict) wrong(results outcomes) error {
	var others []string
	for name, what := range v.different {
		if name != ours {
			others = append(others, name+": "+what)
		}
	}
	switch o, ok := results[ours][v.key]; {
	case ok && o.err != nil:
		return fmt.Errorf("%s: %w", v.key, o.err)
	case v.different[ours] != "" && len(others) == 0:
		return fmt.Errorf("%s: trefoil differs from all others: %s", v.key, v.different[ours])
	case v.different[ours] != "":
		return errors.New(v.key + ": answers differ, there is no majority: " + v.different[ours] + "; " + strings.Join(others, "; "))
	}
	return nil
}
