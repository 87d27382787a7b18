// What the application of a subscription gets of the changes that its filter selects.

package subscriptions

import (
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// systemTerm is the encoded name of the system graph.
var systemTerm, _ = triple.AppendTerm(nil, systemgraph.Graph)

// Visible returns the changes that the application of a subscription gets, of those that its
// [FeedFilter] selects. Read counts replace their batches. operator means that the application may have
// annotations that only operators may read. The result shares memory with the changes.
func Visible(changes []feed.Change, name string, f feed.Filter, operator bool) ([]feed.Change, error) {
	var visible []feed.Change
	for i := range changes {
		c := &changes[i]
		if c.Key == nil {
			visible = append(visible, *c)
			continue
		}
		_, terms, err := triple.SplitKey(c.Key)
		if err != nil {
			return nil, err
		}
		if of, ok := readsOf(c, terms); ok && of == name && f.Also != nil {
			visible = append(visible, c.Reads()...)
		} else if !hides(f, operator, c, terms) {
			visible = append(visible, *c)
		}
	}
	return visible, nil
}

// hides reports whether a change is not for the application of a subscription: an annotation that only
// operators may read, unless one stored the subscription; a change of the system graph, if the pattern
// does not name that graph; or a state or a batch of read counts. A state changes with each delivery, so
// a subscription that got states would never end.
func hides(f feed.Filter, operator bool, c *feed.Change, terms triple.KeyTerms) bool {
	if c.Kind == feed.Annotate && !operator && systemgraph.Reserved(c.Annotation.ApplicationID) {
		return true
	}
	if string(terms[triple.Graph]) != string(systemTerm) {
		return false
	}
	return f.Pattern.Graph != systemgraph.Graph || isState(c) || c.IsReads()
}
