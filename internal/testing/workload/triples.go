// The triples of lists and counters, and the updates that change them.

package workload

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

const (
	base       = "http://example.org/"
	lengthIRI  = base + "length"
	elementIRI = base + "element"
	valueIRI   = base + "value"
	readsIRI   = base + "reads"

	listSort, counterSort = "list", "counter" // in subjects and records
)

// iri returns the subject of a list or counter.
func (k cellKey) iri() string { return fmt.Sprintf("%s%s/%d", base, k.sort(), k.key) }

func (k cellKey) sort() string {
	if k.list {
		return listSort
	}
	return counterSort
}

// keyUse is what a transaction does with a list or counter.
type keyUse struct {
	key     cellKey
	read    bool
	appends []int // elements, or amounts
}

// uses returns the keys of operations, in the order of their first use.
func uses(ops []history.Op) (all []*keyUse) {
	byKey := map[cellKey]*keyUse{}
	for _, o := range ops {
		k := keyOf(o)
		u := byKey[k]
		if u == nil {
			u = &keyUse{key: k}
			byKey[k] = u
			all = append(all, u)
		}
		if writes(o) {
			u.appends = append(u.appends, o.Value)
		} else {
			u.read = true
		}
	}
	return all
}

// updateText returns the update that runs operations, and whether it makes a record. A key that has no
// triple yet is an empty list, or a counter of 0.
func updateText(ops []history.Op, record string) (update string, reads bool) {
	var remove, insert, where strings.Builder
	var state []string // expressions
	for i, u := range uses(ops) {
		subject := "<" + u.key.iri() + ">"
		predicate, old, n := valueIRI, fmt.Sprintf("?old%d", i), fmt.Sprintf("?n%d", i)
		if u.key.list {
			predicate = lengthIRI
		}
		fmt.Fprintf(&where, "OPTIONAL { %s <%s> %s } BIND(COALESCE(%s, 0) AS %s)\n", subject, predicate, old, old, n)
		if len(u.appends) > 0 {
			fmt.Fprintf(&remove, "%s <%s> %s .\n", subject, predicate, old)
			fmt.Fprintf(&insert, "%s <%s> ?new%d .\n", subject, predicate, i)
			fmt.Fprintf(&where, "BIND(%s + %d AS ?new%d)\n", n, u.growth(), i)
		}
		if u.key.list {
			for j, element := range u.appends {
				fmt.Fprintf(&insert, "%s <%s> ?element%d_%d .\n", subject, elementIRI, i, j)
				fmt.Fprintf(&where, `BIND(CONCAT(STR(%s + %d), ":%d") AS ?element%d_%d)`+"\n", n, j, element, i, j)
			}
		}
		// A record has the state before the update.
		if u.read {
			state = append(state, fmt.Sprintf(`"%s %d ", STR(%s), " "`, u.key.sort(), u.key.key, n))
			if u.key.list {
				fmt.Fprintf(&where, "{ SELECT (GROUP_CONCAT(?e; SEPARATOR=\" \") AS ?elements%d) { %s <%s> ?e } }\n", i, subject, elementIRI)
				state[len(state)-1] += fmt.Sprintf(", ?elements%d", i)
			}
		}
	}
	if reads = len(state) > 0; reads {
		fmt.Fprintf(&insert, "%s <%s> ?reads .\n", record, readsIRI)
		fmt.Fprintf(&where, "BIND(CONCAT(%s) AS ?reads)\n", strings.Join(state, `, ";", `))
	}
	return fmt.Sprintf("DELETE {\n%s}\nINSERT {\n%s}\nWHERE {\n%s}", remove.String(), insert.String(), where.String()), reads
}

// growth returns by how much the number of a list or counter grows.
func (u *keyUse) growth() int {
	if u.key.list {
		return len(u.appends)
	}
	return sum(u.appends)
}
