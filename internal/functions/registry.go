// The registry: functions as triples and annotations of the system graph.

package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

const (
	subjectPrefix = systemgraph.Prefix + "function:"
	// registrationID is the application ID of the annotation with a registration and its module.
	registrationID = systemgraph.Registration
	// stateID is that of the annotation with a [State].
	stateID = systemgraph.State
)

var classTerm = triple.NewIRI(systemgraph.Prefix + "UpdateFunction")

// tripleOf returns the triple that stands for a function.
func tripleOf(name string) triple.Triple {
	return triple.Triple{
		Subject: triple.NewIRI(subjectPrefix + name), Predicate: triple.NewIRI(triple.RDFType), Object: classTerm, Graph: systemgraph.Graph,
	}
}

// registryTriple stands for the registry. Its annotation registrationID changes with the registry.
var registryTriple = triple.Triple{
	Subject: triple.NewIRI(systemgraph.Prefix + "functions"), Predicate: triple.NewIRI(triple.RDFType),
	Object: triple.NewIRI(systemgraph.Prefix + "Registry"), Graph: systemgraph.Graph,
}

// revision returns the version of the registry.
func (s *Service) revision(ctx context.Context) (triple.Stamp, error) {
	r, err := s.store.Reader()
	if err != nil {
		return triple.Stamp{}, err
	}
	defer r.Close()
	a, err := r.Annotation(ctx, registryTriple, registrationID)
	if err != nil || a == nil {
		return triple.Stamp{}, err
	}
	return a.Version, nil
}

// changed gives the registry a new revision, by which members notice that it has changed. This
// member reads it at once, because the client's next change must be checked.
func (s *Service) changed(ctx context.Context) error {
	_, err := store.Add(ctx, s.store, []triple.Triple{registryTriple})
	if err == nil {
		err = store.Annotate(ctx, s.store, registryTriple, registrationID, []byte{})
	}
	if err != nil {
		return fmt.Errorf("write the revision of the registry of update functions: %w", err)
	}
	return s.reload(ctx)
}

// allBounds selects the triples of all functions, in an order that has no triples of other graphs:
// clients can write any number of triples to those.
var allBounds = triple.Bounds{Order: triple.GSPO, Prefix: []triple.Term{systemgraph.Graph}, Starts: triple.Starts{Kind: triple.IRI, Text: subjectPrefix}}

// ErrNotFound means that no function has the name.
var ErrNotFound = fmt.Errorf("no update function has this name: %w", store.ErrNotFound)

// names returns the names of all functions, sorted.
func names(ctx context.Context, r store.Reader) (all []string, err error) {
	for row, err := range r.Range(ctx, allBounds, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		if name := strings.TrimPrefix(t.Subject.Value(), subjectPrefix); checkName(name) == nil && t == tripleOf(name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// readState returns the state of a function and its version.
func readState(ctx context.Context, s store.Triples, name string) (*State, triple.Stamp, error) {
	r, err := s.Reader()
	if err != nil {
		return nil, triple.Stamp{}, err
	}
	defer r.Close()
	a, err := r.Annotation(ctx, tripleOf(name), stateID)
	if err != nil || a == nil {
		return nil, triple.Stamp{}, err
	}
	state, err := decodeState(a.Data)
	return state, a.Version, err
}

// Put registers a module, or registers it anew. A new function begins with the changes after this
// call. One that exists keeps its place in the feed; if it is stopped, it continues.
func (s *Service) Put(ctx context.Context, r Registration, module []byte) (*Status, error) {
	// 1. Check the registration and the module, by compiling it.
	r = r.withDefaults()
	if _, err := r.attach(); err != nil {
		return nil, err
	}
	if len(module) > MaxModuleBytes {
		return nil, fmt.Errorf("%w: the module has %d bytes, at most %d", ErrInvalid, len(module), MaxModuleBytes)
	}
	if err := tryModule(ctx, &r, module); errors.Is(err, sandbox.ErrModule) {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	} else if err != nil {
		return nil, err // the time of a compilation is over: the module may be good
	}
	// 2. Find out if the function exists. Its registration is written with compare-and-set, because
	// two registrations at a time must not mix.
	reader, err := s.store.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	all, err := names(ctx, reader)
	if err != nil {
		return nil, err
	}
	t := tripleOf(r.Name)
	old, err := reader.Annotation(ctx, t, registrationID)
	if err != nil {
		return nil, err
	}
	when := store.Condition{Absent: true}
	r.Generation, r.Registered = randomName(), s.now().UTC().Truncate(time.Millisecond)
	if old != nil {
		if before, _, err := decodeRegistration(old.Data); err == nil {
			r.Generation = before.Generation
		}
		when = store.Condition{Version: old.Version}
	} else if len(all) >= MaxFunctions {
		return nil, fmt.Errorf("%w: there are %d functions, and no more are allowed; delete one", ErrInvalid, len(all))
	}
	// 3. Write the triple and the state first, because members run the function as soon as they see
	// the registration.
	if _, err := store.Add(ctx, s.store, []triple.Triple{t}); err != nil {
		return nil, fmt.Errorf("register the function %s: %w", r.Name, err)
	}
	if err := s.prepareState(ctx, r.Name, old == nil); err != nil {
		return nil, fmt.Errorf("register the function %s: %w", r.Name, err)
	}
	r.ModuleBytes = len(module)
	data, err := r.encode(module)
	if err != nil {
		return nil, err
	}
	if _, err := store.AnnotateIf(ctx, s.store, t, registrationID, data, when); err != nil {
		return nil, fmt.Errorf("register the function %s: %w", r.Name, err)
	}
	// 4. Make it known.
	if err := s.changed(ctx); err != nil {
		return nil, err
	}
	return s.Get(ctx, r.Name)
}

// tryModule compiles a module, and forgets it.
func tryModule(ctx context.Context, r *Registration, module []byte) error {
	runtime, err := sandbox.New(r.limits())
	if err != nil {
		return err
	}
	f, err := runtime.Compile(ctx, module)
	if err == nil {
		err = f.Close()
	}
	return errors.Join(err, runtime.Close())
}

// prepareState writes the first state of a function, or lets a stopped one go on.
func (s *Service) prepareState(ctx context.Context, name string, fresh bool) error {
	for {
		state, version, err := readState(ctx, s.store, name)
		if err != nil {
			return err
		}
		when := store.Condition{Version: version, Absent: version == triple.Stamp{}}
		// A new function begins at the end of the feed. A stopped one continues where it is.
		switch {
		case fresh || state == nil:
			at, err := s.feed.Position(ctx)
			if err != nil {
				return err
			}
			state = &State{Position: at.String()}
		case !state.Stopped:
			return nil
		default:
			state.Stopped = false
			if state.Intent != nil { // its effects may be written, see runner.giveUp
				at, err := s.feed.Position(ctx)
				if err != nil {
					return err
				}
				state.Intent.Time, state.Intent.Since = s.now().UTC(), at.String()
			}
		}
		data, err := state.encode()
		if err != nil {
			return err
		}
		if _, err = store.AnnotateIf(ctx, s.store, tripleOf(name), stateID, data, when); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// Delete removes a function. Effects that are decided but not yet written may be written or not.
func (s *Service) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	result, err := store.Delete(ctx, s.store, []triple.Triple{tripleOf(name)})
	if err != nil {
		return fmt.Errorf("delete the function %s: %w", name, err)
	}
	if result.Deleted == 0 {
		return ErrNotFound
	}
	return s.changed(ctx)
}

// Status is a function with its state.
type Status struct {
	Registration
	State *State `json:"state,omitempty"`
	// Running reports whether this member runs the function.
	Running bool `json:"running"`
	// Problem is why the function cannot run; "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Get returns a function.
func (s *Service) Get(ctx context.Context, name string) (*Status, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	r, err := s.store.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	status, err := s.status(ctx, r, name)
	if err == nil && status == nil {
		err = ErrNotFound
	}
	return status, err
}

// List returns all functions, by name.
func (s *Service) List(ctx context.Context) ([]*Status, error) {
	r, err := s.store.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, err := names(ctx, r)
	if err != nil {
		return nil, err
	}
	list := []*Status{}
	for _, name := range all {
		status, err := s.status(ctx, r, name)
		if err != nil {
			return nil, err
		}
		if status != nil {
			list = append(list, status)
		}
	}
	return list, nil
}

// status reads a function; nil if it is not registered.
func (s *Service) status(ctx context.Context, r store.Reader, name string) (*Status, error) {
	a, err := r.Annotation(ctx, tripleOf(name), registrationID)
	if err != nil || a == nil {
		return nil, err
	}
	st := &Status{}
	if st.Registration, _, err = decodeRegistration(a.Data); err != nil {
		return nil, err
	}
	if a, err = r.Annotation(ctx, tripleOf(name), stateID); err != nil {
		return nil, err
	}
	if a != nil {
		if st.State, err = decodeState(a.Data); err != nil {
			return nil, err
		}
	}
	if f := s.functions()[name]; f != nil {
		f.report(st)
	}
	return st, nil
}

// Module returns the module of a function.
func (s *Service) Module(ctx context.Context, name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	r, err := s.store.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a, err := r.Annotation(ctx, tripleOf(name), registrationID)
	if err == nil && a == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	_, module, err := decodeRegistration(a.Data)
	return module, err
}
