// The JSON form of a view.

package view

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// plain is a View without its methods, for the codec.
type plain View

// record is the JSON form of a view. What target shares with base is left out.
type record struct {
	*plain
	BaseTrie        []byte `json:"baseTrie"`
	BasePlacement   []byte `json:"basePlacement"`
	TargetTrie      []byte `json:"targetTrie,omitempty"`
	TargetPlacement []byte `json:"targetPlacement,omitempty"`
	// BaseCopies is left out by versions whose number of copies was fixed: 3.
	BaseCopies   int `json:"baseCopies,omitempty"`
	TargetCopies int `json:"targetCopies,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (v *View) MarshalJSON() ([]byte, error) {
	if v.decoded == v {
		return v.encoded, nil
	}
	r := record{plain: (*plain)(v), BaseCopies: v.Base.Copies}
	if v.Target.Copies != v.Base.Copies {
		r.TargetCopies = v.Target.Copies
	}
	var err error
	if r.BaseTrie, err = v.Base.Trie.AppendBinary(nil); err != nil {
		return nil, err
	}
	if r.BasePlacement, err = v.Base.Placement.AppendBinary(nil); err != nil {
		return nil, err
	}
	if v.Target.Trie != v.Base.Trie {
		if r.TargetTrie, err = v.Target.Trie.AppendBinary(nil); err != nil {
			return nil, err
		}
	}
	if v.Target.Placement != v.Base.Placement {
		if r.TargetPlacement, err = v.Target.Placement.AppendBinary(nil); err != nil {
			return nil, err
		}
	}
	return encodeWith(v.unknown, r)
}

// UnmarshalJSON implements json.Unmarshaler. A view that breaks an invariant is
// an error.
func (v *View) UnmarshalJSON(b []byte) error {
	var p plain
	r := record{plain: &p}
	var err error
	if p.unknown, err = decodeKnown(b, &r); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	// 1. Decode base. If it has no number of copies, it has the default.
	if p.Base.Trie, err = trie.Parse(r.BaseTrie); err != nil {
		return fmt.Errorf("view: base: %w", err)
	}
	if p.Base.Placement, err = trie.ParsePlacement(r.BasePlacement); err != nil {
		return fmt.Errorf("view: base: %w", err)
	}
	p.Base.Copies = cmp.Or(r.BaseCopies, recovery.DefaultCopies)
	// 2. Target is base, except for the fields it has itself.
	p.Target = p.Base
	p.Target.Copies = cmp.Or(r.TargetCopies, p.Base.Copies)
	if r.TargetTrie != nil {
		if p.Target.Trie, err = trie.Parse(r.TargetTrie); err != nil {
			return fmt.Errorf("view: target: %w", err)
		}
	}
	if r.TargetPlacement != nil {
		if p.Target.Placement, err = trie.ParsePlacement(r.TargetPlacement); err != nil {
			return fmt.Errorf("view: target: %w", err)
		}
	}
	// 3. Check the invariants, because all other code relies on them.
	if err := (*View)(&p).Validate(); err != nil {
		return err
	}
	*v = View(p)
	v.prepare()
	// Views without a number of copies have always been encoded anew.
	own, err := v.MarshalJSON()
	if err == nil && r.BaseCopies != 0 && !bytes.Equal(own, b) {
		v.encoded, v.decoded = bytes.Clone(b), v
	}
	return err
}
