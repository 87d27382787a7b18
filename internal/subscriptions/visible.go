// What the application of a subscription gets of the changes that its filter selects.

package subscriptions

import (
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// systemTerm is the encoded name of the system graph.
var systemTerm, _ = triple.AppendTerm(nil, systemgraph.Graph)

// Visible filters changes that the [FeedFilter] of a subscription selects: it returns those that the
// application gets. Read counts replace their batches. mayRead reports whether the application may
// read the annotations of an ID. The result shares memory with the changes.
func Visible(changes []feed.Change, name string, f feed.Filter, mayRead func(applicationID string) bool) ([]feed.Change, error) {
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
		} else if !hides(f, mayRead, c, terms) {
			visible = append(visible, *c)
		}
	}
	return visible, nil
}

// hides reports whether a change is not for the application of a subscription: an annotation that it may
// not read; a change of the system graph, if the pattern does not name that graph; or a state or a batch
// of read counts. A state changes with each delivery, so a subscription that got states would never end.
func hides(f feed.Filter, mayRead func(applicationID string) bool, c *feed.Change, terms triple.KeyTerms) bool {
	if c.Kind == feed.Annotate && !mayRead(c.Annotation.ApplicationID) {
		return true
	}
	if string(terms[triple.Graph]) != string(systemTerm) {
		return false
	}
	return f.Pattern.Graph != systemgraph.Graph || systemgraph.IsLinkKey(c.Key) || isState(c) || c.IsReads()
}

// mayRead reports whether the owner of a subscription may read the annotations of an application now.
// Those that only operators may read are for subscriptions that one has stored.
func (m *Manager) mayRead(s *subscription, applicationID string) bool {
	if systemgraph.Reserved(applicationID) {
		return s.operator
	}
	return m.MayRead(s.definition.Owner, applicationID)
}
