package model

import (
	"errors"
	"fmt"
)

// This file is the model of generations: recover-majority on M1 of three
// machines, while M2 and M3 are off, or only seem so.

type generationRules struct {
	// Unchecked: messages of an older generation are taken.
	Unchecked bool
	// MeetOldFirst: machines of the old generation may reach each other before
	// they reach the new one.
	MeetOldFirst bool
	// Unattested: the operator recovers while the others run.
	Unattested bool
}

type generationState struct {
	recovered bool
	up        [3]bool
	met       [3]bool // the new generation
	aside     [3]bool
	newAck    bool // an operation was acknowledged in the new generation
	oldAck    bool // and one in the old, after the new one began
}

type generationModel struct {
	rules generationRules
	s     generationState
}

type generationAction struct {
	what byte // 'r'ecover, 'u'p, 'd'own, 'm'eet, 'n'ew ack, 'o'ld ack
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
	case 'n':
		return "M1 acknowledges in the new generation"
	}
	return "M2 and M3 acknowledge in the old generation"
}

// Actions implements System.
func (g generationModel) Actions() (actions []generationAction) {
	s := &g.s
	off := !s.up[1] && !s.up[2]
	if !s.recovered && (off || g.rules.Unattested) {
		actions = append(actions, generationAction{'r', 0})
	}
	for m := uint8(1); m < 3; m++ {
		if s.up[m] {
			actions = append(actions, generationAction{'d', m})
		} else {
			actions = append(actions, generationAction{'u', m})
		}
		if s.up[m] && s.recovered && !s.met[m] {
			actions = append(actions, generationAction{'m', m})
		}
	}
	if s.recovered && !s.newAck {
		actions = append(actions, generationAction{'n', 0})
	}
	// Two of three are a majority of the old generation, and need nobody.
	serves := s.up[1] && s.up[2] && !s.aside[1] && !s.aside[2]
	if serves && s.recovered && !s.oldAck && (g.rules.MeetOldFirst || g.rules.Unattested || s.met[1] && s.met[2]) {
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
		s.up[a.m] = false
	case 'm':
		s.met[a.m], s.aside[a.m] = true, !g.rules.Unchecked
	case 'n':
		s.newAck = true
	case 'o':
		s.oldAck = true
	}
	if s.newAck && s.oldAck {
		return nil, errors.New("two generations acknowledge: what one acknowledges the other does not have")
	}
	return g, nil
}
