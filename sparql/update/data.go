// INSERT DATA and DELETE DATA.

package update

import (
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// data returns INSERT DATA or DELETE DATA (section 3.1.1 and 3.1.2).
func data(triples []triple.Triple, deleted bool) (func(*run) error, error) {
	// 1. Check the terms when the request is made, because an error must come before any change.
	for _, t := range triples {
		if err := t.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", clip(t.String()), err)
		}
	}
	return func(r *run) error {
		// 2. Each execution makes new blank nodes, one for each label.
		fresh := map[triple.Term]triple.Term{}
		replace := func(label triple.Term) (triple.Term, error) {
			node, ok := fresh[label]
			if !ok {
				var err error
				if node, err = r.blanks.next(); err != nil {
					return node, err
				}
				fresh[label] = node
			}
			return node, nil
		}
		for _, t := range triples {
			if deleted { // there are no blank nodes
				q := quadOf(t)
				if err := r.delta.remove(&q); err != nil {
					return err
				}
				continue
			}
			for _, term := range []*triple.Term{&t.Subject, &t.Object} {
				made, err := term.MapBlanks(replace)
				if err != nil {
					return err
				}
				*term = made
			}
			q := quadOf(t)
			if err := r.delta.add(&q); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// clip shortens a text for a message.
func clip(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "..."
}
