package view

import (
	"encoding/json"
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// plain is a View without its methods, for the codec.
type plain View

// record is the JSON form of a view. A target that is the base is left out.
type record struct {
	*plain
	BaseTrie        []byte `json:"baseTrie"`
	BasePlacement   []byte `json:"basePlacement"`
	TargetTrie      []byte `json:"targetTrie,omitempty"`
	TargetPlacement []byte `json:"targetPlacement,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (v *View) MarshalJSON() ([]byte, error) {
	r := record{plain: (*plain)(v)}
	var err error
	if r.BaseTrie, r.BasePlacement, err = layoutBytes(v.Base); err != nil {
		return nil, err
	}
	if v.Target != v.Base {
		if r.TargetTrie, r.TargetPlacement, err = layoutBytes(v.Target); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

// UnmarshalJSON implements json.Unmarshaler. A view that breaks an invariant is
// an error.
func (v *View) UnmarshalJSON(b []byte) error {
	var p plain
	r := record{plain: &p}
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	var err error
	if p.Base, err = parseLayout(r.BaseTrie, r.BasePlacement); err != nil {
		return fmt.Errorf("view: base: %w", err)
	}
	p.Target = p.Base
	if r.TargetTrie != nil {
		if p.Target, err = parseLayout(r.TargetTrie, r.TargetPlacement); err != nil {
			return fmt.Errorf("view: target: %w", err)
		}
	}
	*v = View(p)
	v.prepare()
	return v.Validate()
}

func layoutBytes(l recovery.Layout) (segments, placement []byte, err error) {
	if segments, err = l.Trie.AppendBinary(nil); err != nil {
		return nil, nil, err
	}
	placement, err = l.Placement.AppendBinary(nil)
	return segments, placement, err
}

func parseLayout(segments, placement []byte) (l recovery.Layout, err error) {
	if l.Trie, err = trie.Parse(segments); err != nil {
		return l, err
	}
	l.Placement, err = trie.ParsePlacement(placement)
	return l, err
}
