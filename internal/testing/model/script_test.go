// Scripts: the state after named steps.

package model

import (
	"fmt"
	"slices"
	"strings"
)

// quiet are the actions that nothing has to go wrong for, and no client to ask.
var quiet = []kind{deliver, handOver, adopt, send, walked, sweep, reconcile, toServe, toIdle, publish, ingestTables, purge, learn}

// script returns the setting as it is after the named steps, in the words of
// Say. The word "settle" does quiet steps until there are none, "settle
// unswept" leaves the sweeps out, "settle until serve" ends there.
func (s *setting) script(steps ...string) (*setting, error) {
	m := s.model()
	for _, step := range steps {
		if strings.HasPrefix(step, "settle") {
			for !(step == "settle until serve" && m.c.latest().phase == serve) && m.quietStep(step == "settle") {
			}
			continue
		}
		if err := m.named(step); err != nil {
			return nil, err
		}
	}
	next := *s
	next.start = m.c
	return &next, nil
}

func (s *model) quietStep(sweeps bool) bool {
	for _, a := range s.Actions() {
		if slices.Contains(quiet, a.kind) && (sweeps || a.kind != sweep) {
			after, err := s.Do(a)
			if err != nil {
				panic(err)
			}
			*s = after.(model)
			return true
		}
	}
	return false
}

func (s *model) named(step string) error {
	var possible []string
	for _, a := range s.Actions() {
		said := s.Say(a)
		possible = append(possible, said)
		if said == step {
			after, err := s.Do(a)
			if err == nil {
				*s = after.(model)
			}
			return err
		}
	}
	return fmt.Errorf("script: %q is not possible; possible are: %s", step, strings.Join(possible, "; "))
}
