// Checks: functions that run before the commit and may reject a change.

package functions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// RejectedError means that a check has rejected a change. Nothing of it was made.
type RejectedError struct {
	Function, Reason string
	Change           string // kind and triple
}

// Error implements error.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("the check %s has rejected this change: %s (%s); nothing was changed", e.Function, e.Reason, e.Change)
}

// Is makes errors.Is(err, store.ErrRejected) true.
func (e *RejectedError) Is(target error) bool { return target == store.ErrRejected }

// checks are the functions that run before commits, by kind of change.
type checks struct {
	unknown bool // the registry was not read yet
	byKind  [feed.Annotate + 1][]*function
}

// noChecks is what changes run if there is no check.
var noChecks = &checks{}

// checksOf returns the checks among functions; nil if there are none, because most stores have none
// and must not pay for them.
func checksOf(functions map[string]*function) *checks {
	var c *checks
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		if f.Mode != Check {
			continue
		}
		if c == nil {
			c = &checks{}
		}
		for _, kind := range []feed.Kind{feed.Add, feed.Delete, feed.Annotate} {
			// A check that cannot run rejects what it may be for.
			if f.attachment == nil || f.kinds[kind] {
				c.byKind[kind] = append(c.byKind[kind], f)
			}
		}
	}
	return c
}

// current returns the checks; nil if there are none. It waits for the first try to read the registry.
// While that fails, changes are refused, because a check might reject them.
func (s *Service) current(ctx context.Context) (*checks, error) {
	c := s.checks.Load()
	for c != nil && c.unknown {
		select {
		case <-s.joined:
		default:
			return nil, fmt.Errorf("%w: the registry of checks is read when this machine is a member of its cluster", store.ErrUnavailable)
		}
		select {
		case <-s.tried:
		case <-ctx.Done():
			return nil, fmt.Errorf("the registry of checks was not read yet: %w", errors.Join(store.ErrUnavailable, context.Cause(ctx)))
		case <-s.ctx.Done():
			return nil, store.ErrClosed
		}
		if failed := s.unread.Load(); failed != nil {
			return nil, fmt.Errorf("the registry of checks cannot be read: %w", errors.Join(store.ErrUnavailable, *failed))
		}
		c = s.checks.Load()
	}
	return c, nil
}

// checking is the checks of one change of a client.
type checking struct {
	*Service
	ctx    context.Context
	checks *checks
	reader store.Reader // nil until a check has arguments
	own    bool         // reader must be closed
}

func (k *checking) close() {
	if k.own {
		k.reader.Close()
	}
}

// triple runs the checks of one change. annotation may be nil.
func (k *checking) triple(kind feed.Kind, t triple.Triple, annotation *feed.Annotation) error {
	if systemgraph.Contains(t) {
		return systemgraph.Check(k.ctx, t.Graph)
	}
	of := k.checks.byKind[kind]
	if len(of) == 0 || t.Check() != nil { // the store refuses what is malformed
		return nil
	}
	c := feed.Change{Kind: kind, Annotation: annotation}
	var long bool
	if c.Key, long = triple.AppendKey(nil, triple.SPO, t); long {
		c.Long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	for _, f := range of {
		if f.attachment != nil {
			if ok, err := f.matches(&c); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		if err := k.runCheck(f, &c, t); err != nil {
			return err
		}
	}
	return nil
}

// runCheck runs one check. If it fails, the change is rejected: a check that cannot run must not let
// everything pass.
func (k *checking) runCheck(f *function, c *feed.Change, t triple.Triple) error {
	// 1. Call it.
	var result sandbox.Result
	err := error(nil)
	if f.problem != "" {
		err = errors.New(f.problem)
	}
	in := &sandbox.Input{Change: *c}
	if err == nil {
		in.Location = k.locate(c.Key)
		if len(f.arguments) > 0 {
			if in.Arguments, err = k.arguments(f, t); err != nil && !errors.Is(err, errTooMany) {
				return fmt.Errorf("read the arguments of the check %s: %w", f.Name, err)
			}
		}
	}
	if err == nil {
		result, err = f.call(k.ctx, in)
	}
	if k.ctx.Err() != nil {
		return context.Cause(k.ctx)
	}
	if errors.Is(err, errReplaced) {
		return fmt.Errorf("the check %s: %w", f.Name, err) // the next try has the new one
	}
	// 2. Judge its result.
	if err == nil && len(result.Effects) > 0 {
		err = errors.New("it returned effects, and a check has none")
	}
	reason := result.Reason
	if err != nil {
		reason = "the check failed: " + err.Error()
	}
	f.count(k.now, err, result.Rejected, c)
	if err == nil && !result.Rejected {
		return nil
	}
	return &RejectedError{Function: f.Name, Reason: reason, Change: c.Kind.String() + " " + textOf(t)}
}

func (k *checking) arguments(f *function, t triple.Triple) ([]sandbox.Argument, error) {
	if k.reader == nil {
		r, err := k.store.Reader()
		if err != nil {
			return nil, err
		}
		k.reader, k.own = r, true
	}
	return k.readArguments(k.ctx, f, k.reader, make([]lookup, len(f.arguments)), t, nil)
}

// checkEffects runs the checks on effects of another function.
func (s *Service) checkEffects(ctx context.Context, effects []sandbox.Effect) error {
	checks, err := s.current(ctx)
	if err != nil || checks == nil || len(effects) == 0 {
		return err
	}
	k := &checking{Service: s, ctx: ctx, checks: checks}
	defer k.close()
	for i := range effects {
		if err := k.triple(effects[i].Kind, effects[i].Triple, effects[i].Annotation); err != nil {
			return err
		}
	}
	return nil
}

// each checks triples as they pass, and ends at the first that is rejected. failed then has the
// error.
func (k *checking) each(kind feed.Kind, triples iter.Seq[triple.Triple], failed *error) iter.Seq[triple.Triple] {
	if triples == nil {
		return nil
	}
	return func(yield func(triple.Triple) bool) {
		for t := range triples {
			if *failed = k.triple(kind, t, nil); *failed != nil || !yield(t) {
				return
			}
		}
	}
}

// noneProtected returns an error if the system graph has triples, and the change may not delete them.
func (k *checking) noneProtected() error {
	if err := systemgraph.Check(k.ctx, systemgraph.Graph); err == nil {
		return nil
	}
	r, err := k.store.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	for _, err := range r.Match(k.ctx, triple.Pattern{Graph: systemgraph.Graph}, store.ReadOptions{Limit: 1}) {
		return cmp.Or(err, systemgraph.ErrProtected)
	}
	return nil
}

// pattern checks the delete of all triples of a pattern. Those of the system graph are meant only if
// the pattern names it.
func (k *checking) pattern(p triple.Pattern) error {
	if err := systemgraph.Check(k.ctx, p.Graph); err != nil {
		return err
	}
	if len(k.checks.byKind[feed.Delete]) == 0 {
		return nil
	}
	r, err := k.store.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	for row, err := range r.Match(k.ctx, p, store.ReadOptions{}) {
		if err != nil {
			return err
		}
		t, err := row.Triple()
		if err == nil && !systemgraph.Contains(t) {
			err = k.triple(feed.Delete, t, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// count counts the outcome of a check.
func (f *function) count(now func() time.Time, err error, rejected bool, c *feed.Change) {
	if rejected {
		f.figures.rejected.Add(1)
	}
	if err != nil {
		f.figures.failures.Add(1)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.last = newFailure(now(), err, c)
	}
}
