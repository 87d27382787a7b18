// Tests of the model of leases.

package model

import "testing"

func TestLease(t *testing.T) {
	got := Explore[leaseState, leaseAction](leaseModel{}, Bounds{}, nil)
	if got.Broken != nil {
		t.Fatal(Print[leaseState, leaseAction](leaseModel{}, *got.Broken))
	}
	t.Logf("%d states", got.States)
	// The holder has a lease at some time, and is excluded at some time: the
	// model is not empty.
	both := Explore[leaseState, leaseAction](leaseModel{}, Bounds{}, func(s leaseState) bool { return s.until > 0 && s.excluded })
	if both.Reached == nil {
		t.Error("no holder of a lease is ever excluded")
	}
	for name, rules := range map[string]leaseRules{
		"a lease granted by a leader that dies, its successor excludes at once":     {NewLeaderAtOnce: true},
		"the new owner acknowledges while the old one's lease lives: from receipt":  {FromReceipt: true},
		"the new owner acknowledges while the old one's lease lives: a slow clock":  {NoDrift: true},
		"the new owner acknowledges while the old one's lease lives: suspended":     {Monotonic: true},
		"the new owner acknowledges while the old one's lease lives: an old leader": {Unverified: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := leaseModel{rules: rules}
			found := Explore[leaseState, leaseAction](m, Bounds{}, nil)
			if found.Broken == nil {
				t.Fatalf("%d states without the rule, and nothing breaks", found.States)
			}
			t.Logf("\n%s", Print[leaseState, leaseAction](m, *found.Broken))
		})
	}
}

func TestRecoverMajorityWhileTheOthersOnlySeemedDead(t *testing.T) {
	up := generationState{up: [3]bool{true, true, true}}
	explore := func(r generationRules) Result[generationAction] {
		return Explore[generationState, generationAction](generationModel{r, up}, Bounds{}, nil)
	}
	if got := explore(generationRules{}); got.Broken != nil {
		t.Fatal(Print[generationState, generationAction](generationModel{s: up}, *got.Broken))
	}
	// What the protocol cannot do: it rests on the operator's word, and on the
	// old machines meeting the new generation before each other.
	// If machines set their data aside on contact, a recovery by mistake loses it.
	for _, r := range []generationRules{{Unchecked: true}, {Unattested: true}, {MeetOldFirst: true}, {Unattested: true, AsideOnContact: true}} {
		got := explore(r)
		if got.Broken == nil {
			t.Errorf("%+v: nothing breaks", r)
			continue
		}
		t.Logf("%+v:\n%s", r, Print[generationState, generationAction](generationModel{r, up}, *got.Broken))
	}
}
