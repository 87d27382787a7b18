// Versions: the order of the elements of each list.

package history

import (
	"cmp"
	"fmt"
	"slices"
)

// versions is the order of the elements of each list.
type versions struct {
	*observations
	// order has the longest list that was read, by key. Each read that agrees is a prefix of it.
	order map[int][]int
	// unread has the committed appends that are not in order, by key. They are behind it.
	unread map[int][]element
}

// inferVersions infers the versions, and removes the reads that contradict them.
func inferVersions(o *observations, report *Report) *versions {
	v := &versions{observations: o, order: map[int][]int{}, unread: map[int][]element{}}
	// 1. Lists with an element twice must not become an order, because it would not be one.
	o.reads = slices.DeleteFunc(o.reads, func(r observation) bool {
		value, ok := duplicate(r.list)
		if ok {
			report.add(DuplicateElement, fmt.Sprintf("T%d read %d more than once in key %d: %v", r.txn, value, r.key, r.list), r.txn)
		}
		return ok
	})
	for _, r := range o.reads {
		if len(r.list) > len(v.order[r.key]) {
			v.order[r.key] = r.list
		}
	}
	// 2. A read that is no prefix says something of its elements, and nothing of the order.
	o.reads = slices.DeleteFunc(o.reads, func(r observation) bool {
		order := v.order[r.key]
		if slices.Equal(r.list, order[:len(r.list)]) {
			return false
		}
		report.add(IncompatibleOrder, fmt.Sprintf("T%d read %v of key %d, and another transaction %v", r.txn, r.list, r.key, order), r.txn)
		v.checkElements(r, report)
		return true
	})
	// 3. The elements of prefixes are those of the longest list, so that each is checked once.
	for _, r := range o.reads {
		if len(r.list) == len(v.order[r.key]) {
			v.checkElements(r, report)
		}
	}
	v.gatherUnread()
	return v
}

// duplicate returns an element that a list has more than once, if there is one.
func duplicate(list []int) (value int, ok bool) {
	seen := make(map[int]struct{}, len(list))
	for _, value := range list {
		if _, ok := seen[value]; ok {
			return value, true
		}
		seen[value] = struct{}{}
	}
	return 0, false
}

// checkElements finds elements without a writer, or with an aborted one. Unknown writers of the others
// are committed.
func (v *versions) checkElements(r observation, report *Report) {
	for _, value := range r.list {
		w, ok := v.writers[element{r.key, value}]
		switch {
		case !ok:
			report.add(GarbageRead, fmt.Sprintf("T%d read %d in key %d, and nobody appended it", r.txn, value, r.key), r.txn)
		case v.txns[w.txn].Outcome == Aborted:
			report.add(G1a, fmt.Sprintf("T%d read %d in key %d, and T%d, which appended it, was aborted", r.txn, value, r.key, w.txn), r.txn, w.txn)
		default:
			v.committed[w.txn] = true
		}
	}
}

// gatherUnread gathers the committed appends that nobody read, in the order of transactions.
func (v *versions) gatherUnread() {
	ordered := map[element]bool{}
	for key, order := range v.order {
		for _, value := range order {
			ordered[element{key, value}] = true
		}
	}
	for e, w := range v.writers {
		if v.committed[w.txn] && !ordered[e] {
			v.unread[e.key] = append(v.unread[e.key], e)
		}
	}
	for _, unread := range v.unread {
		slices.SortFunc(unread, func(a, b element) int {
			return cmp.Or(cmp.Compare(v.writers[a].txn, v.writers[b].txn), cmp.Compare(a.value, b.value))
		})
	}
}

// checkReads finds reads of intermediate versions, and updates that were lost.
func (v *versions) checkReads(report *Report) {
	type version struct{ key, length int }
	type appender struct{ key, txn int }
	replacers := map[version]int{} // the first transaction that read a version and appended to the key
	appends := map[appender]bool{}
	for e, w := range v.writers {
		appends[appender{e.key, w.txn}] = true
	}
	for _, r := range v.reads {
		// 1. Own appends may be intermediate: the transaction goes on.
		if r.external > 0 {
			last := r.list[r.external-1]
			if w, ok := v.writers[element{r.key, last}]; ok && !w.final && w.txn != r.txn && v.committed[w.txn] {
				report.add(G1b, fmt.Sprintf("T%d read key %d up to %d, and T%d appended more behind it", r.txn, r.key, last, w.txn), r.txn, w.txn)
			}
		}
		// 2. Both would be based on a version that only one of them can replace.
		if !appends[appender{r.key, r.txn}] {
			continue
		}
		k := version{r.key, r.external}
		if other, ok := replacers[k]; !ok {
			replacers[k] = r.txn
		} else if other != r.txn {
			report.add(LostUpdate, fmt.Sprintf("T%d and T%d read the same %d elements of key %d, and both appended to it", other, r.txn, k.length, k.key), other, r.txn)
		}
	}
}
