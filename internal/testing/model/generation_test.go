// The model of generations: recover-majority on M1 of three machines, while M2 and M3 are down
// or only seem so.

package model

import (
	"errors"
	"fmt"
)

type generationRules struct {
	// Unchecked: a machine that meets the new generation stands for election as before.
	Unchecked bool
	// MeetOldFirst: machines of the old generation may reach each other before
	// they reach the new one.
	MeetOldFirst bool
	// Unattested: the operator recovers while the others run.
	Unattested bool
	// AsideOnContact: a machine that meets the new generation sets its data aside.
	AsideOnContact bool
}

type generationState struct {
	recovered bool
	up        [3]bool
	led       [3]bool // it has had a lease of the old generation since its start
	met       [3]bool // the new generation, since its start
	aside     [3]bool
	newAck    bool // an operation was acknowledged in the new generation
	oldAck    bool // and one in the old, after the new one began
}

type generationModel struct {
	rules generationRules
	s     generationState
}

type generationAction struct {
	what byte // 'r'ecover, 'u'p, 'd'own, 'm'eet, 'e'lect, 'n'ew ack, 'o'ld ack
	m    uint8
}

// State implements System.
func (g generationModel) State() generationState { return g.s }

// Say implements System.
func (g generationModel) Say(a generationAction) string {
	switch a.what {
	case 'r':
		return "the operator recovers the majority on M1"
	case 'u':
		return fmt.Sprintf("M%d starts", a.m+1)
	case 'd':
		return fmt.Sprintf("M%d goes off", a.m+1)
	case 'm':
		return fmt.Sprintf("M%d meets the new generation", a.m+1)
	case 'e':
		return fmt.Sprintf("M%d is elected in the old generation", a.m+1)
	case 'n':
		return "M1 acknowledges in the new generation"
	}
	return "M2 and M3 acknowledge in the old generation"
}

// Actions implements System.
func (g generationModel) Actions() (actions []generationAction) {
	s := &g.s
	off := !s.up[1] && !s.up[2]
	// The operator must attest a loss: recovery needs both other machines off.
	if !s.recovered && (off || g.rules.Unattested) {
		actions = append(actions, generationAction{'r', 0})
	}
	// Two of three are a majority of the old generation, and need nobody.
	together := s.up[1] && s.up[2] && !s.aside[1] && !s.aside[2]
	for m := uint8(1); m < 3; m++ {
		if s.up[m] {
			actions = append(actions, generationAction{'d', m})
		} else {
			actions = append(actions, generationAction{'u', m})
		}
		if s.up[m] && s.recovered && !s.met[m] {
			actions = append(actions, generationAction{'m', m})
		}
		// A machine stands back if it met the new generation before it led the old one.
		standsBack := s.met[m] && !s.led[m] && !g.rules.Unchecked
		// By the protocol, both machines meet the new generation before they elect in the old one.
		meetsOld := !s.recovered || g.rules.MeetOldFirst || s.met[1] && s.met[2]
		if together && meetsOld && !standsBack && !(s.led[1] && s.led[2]) {
			actions = append(actions, generationAction{'e', m})
		}
	}
	if s.recovered && !s.newAck {
		actions = append(actions, generationAction{'n', 0})
	}
	if together && s.led[1] && s.led[2] && s.recovered && !s.oldAck {
		actions = append(actions, generationAction{'o', 0})
	}
	return actions
}

// Do implements System.
func (g generationModel) Do(a generationAction) (System[generationState, generationAction], error) {
	s := &g.s
	switch a.what {
	case 'r':
		s.recovered = true
	case 'u':
		s.up[a.m] = true
	case 'd':
		s.up[a.m], s.led[a.m], s.met[a.m] = false, false, false
	case 'm':
		s.met[a.m] = true
		s.aside[a.m] = s.aside[a.m] || g.rules.AsideOnContact
	case 'e':
		s.led[1], s.led[2] = true, true
	case 'n':
		s.newAck = true
	case 'o':
		s.oldAck = true
	}
	if s.newAck && s.oldAck && !g.rules.AsideOnContact {
		return nil, errors.New("two generations acknowledge: what one acknowledges the other does not have")
	}
	if s.oldAck && s.aside[1] && s.aside[2] {
		return nil, errors.New("what the old generation has acknowledged is on no machine of any cluster")
	}
	return g, nil
}
