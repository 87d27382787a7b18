// The registry: subscriptions as triples of the system graph.

package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// Store is what subscriptions need of a store.
type Store interface {
	Reader() (store.Reader, error)
	Feed() feed.Source
	store.Writer
}

// The errors of the registry.
var (
	ErrUnknown = errors.New("there is no such subscription")
	ErrInvalid = errors.New("invalid subscription")
	ErrTooMany = errors.New("too many subscriptions")
)

const (
	namePrefix    = systemgraph.Prefix + "subscription:"
	appDefinition = systemgraph.Definition
	appState      = systemgraph.State

	maxName = 100
	// maxDead is the number of dead letters that a state keeps. Older ones are only counted.
	maxDead = 20
)

var class = triple.NewIRI(systemgraph.Prefix + "Subscription")

// The forms of the API.
type (
	Definition = api.SubscriptionDefinition
	State      = api.SubscriptionState
	DeadLetter = api.DeadLetter
)

// storedDefinition is a definition as it is stored.
type storedDefinition struct {
	Definition
	// Operator means that an operator stored it, so that it may get what only operators may read. It is
	// missing in those of earlier releases.
	Operator bool `json:"operator,omitempty"`
}

// bury adds a dead letter to a state.
func bury(s *State, d DeadLetter) {
	s.DeadLetters++
	s.Dead = append(s.Dead, d)
	if extra := len(s.Dead) - maxDead; extra > 0 {
		s.Dead = slices.Delete(s.Dead, 0, extra)
	}
}

// Subscription is a registered subscription.
type Subscription struct {
	Definition
	State State `json:"state"`

	operator                   bool         // an operator stored the definition
	version, definitionVersion triple.Stamp // of the annotations
}

// Registry stores subscriptions. It is safe for concurrent use, as the store is.
type Registry struct {
	Store Store
	// Filter parses the parameters of a filter.
	Filter func(map[string]string) (feed.Filter, error)
	// CheckURL returns an error if messages may not go to a webhook.
	CheckURL func(string) error
	// Key is the operator's key, from which the secrets of subscriptions are derived. Without one
	// there are no webhooks.
	Key []byte
	// Max is the number of subscriptions from which new ones are refused; 0 is 20,000.
	Max int64

	mu       sync.Mutex
	room     int64         // new subscriptions that need no count before
	counting chan struct{} // closed when the count under way ends; nil if there is none
}

// Secret returns the secret by which batches of a subscription are signed, as text.
func (r *Registry) Secret(d *Definition) string { return webhook.SecretText(secretOf(d, r.Key)) }

// CheckName returns an error if a text cannot name a subscription.
func CheckName(name string) error {
	valid := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !valid(r) }) {
		return fmt.Errorf("%w: the name has 1 to %d letters, digits, - and _", ErrInvalid, maxName)
	}
	return nil
}

// entry returns the triple of a subscription.
func entry(name string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(namePrefix + name), Predicate: triple.NewIRI(triple.RDFType), Object: class, Graph: systemgraph.Graph}
}

// Put stores a subscription. A new one begins at since, or at the current end of the feed if since
// is "", and belongs to the caller. An existing one continues at its position, unless since is set,
// and keeps its owner. Put returns whether it is new.
func (r *Registry) Put(ctx context.Context, by Caller, d Definition, since string) (created bool, err error) {
	if err := r.check(&d); err != nil {
		return false, err
	}
	if since != "" {
		if _, err := r.position(ctx, since); err != nil {
			return false, fmt.Errorf("since: %w", err)
		}
	}
	for range putTries {
		if created, err = r.put(ctx, by, d, since); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return created, err
}

// putTries bounds how often a subscription is stored again that has changed since it was read.
const putTries = 10

// check returns an error if a definition cannot be stored.
func (r *Registry) check(d *Definition) error {
	if err := CheckName(d.Name); err != nil {
		return err
	}
	f, err := r.Filter(d.Filter)
	if err == nil {
		_, err = feed.NewMatcher(f)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if d.URL != "" && len(r.Key) == 0 {
		return fmt.Errorf("%w: this node sends no webhooks: the operator starts it with --webhook-key-file and --webhook-host", ErrInvalid)
	}
	if d.URL != "" {
		if err := r.CheckURL(d.URL); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

// position parses the text of a position of this store.
func (r *Registry) position(ctx context.Context, text string) (feed.Position, error) {
	p, err := feed.ParsePosition(text)
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	end, err := r.Store.Feed().Position(ctx)
	if err == nil && !p.IsZero() && p.Source != end.Source {
		err = fmt.Errorf("%w: %w: it is of another store, or of a store from which this one was restored", ErrInvalid, feed.ErrPosition)
	}
	return p, err
}

// put stores a subscription unless it changes at the same time: then the error is a conflict.
func (r *Registry) put(ctx context.Context, by Caller, d Definition, since string) (created bool, err error) {
	// 1. Find its owner and its position.
	old, err := r.Get(ctx, d.Name)
	created = errors.Is(err, ErrUnknown)
	if err != nil && !created {
		return false, err
	}
	d.Owner = by.Owner
	if !created {
		if err := r.mayChange(by, old); err != nil {
			return false, err
		}
		d.Owner = old.Owner
	}
	if created {
		if err := r.reserve(ctx); err != nil {
			return false, err
		}
	}
	state := State{Position: since}
	switch {
	case since != "":
	case created:
		end, err := r.Store.Feed().Position(ctx)
		if err != nil {
			return false, err
		}
		state.Position = end.String()
	default:
		if state = old.State; d.URL != old.URL {
			state.Failures, state.FailingSince = 0, nil // they were another receiver's
		}
	}
	// 2. Nothing is written of a subscription that is refused.
	rows, err := r.planReads(ctx, &d)
	if err != nil {
		return false, err
	}
	// 3. Write it. The definition comes behind the position, because members take it up when it is there.
	t := entry(d.Name)
	if _, err := store.Add(ctx, r.Store, []triple.Triple{t}); err != nil {
		return false, err
	}
	if err := r.putReads(ctx, rows); err != nil {
		return false, err
	}
	version := old.version
	if created || since != "" {
		if version, err = r.annotate(ctx, t, appState, state, version); err != nil {
			return false, err
		}
	}
	if _, err = r.annotate(ctx, t, appDefinition, storedDefinition{d, by.Operator}, old.definitionVersion); err != nil || created {
		return created, err
	}
	// 4. Write the state again. A worker of the former definition could still store a position behind
	// changes that only the new one selects; from now on that is a conflict.
	_, err = r.annotate(ctx, t, appState, state, version)
	return false, err
}

// annotate sets an annotation if it has a version; the zero version means that there is none.
func (r *Registry) annotate(ctx context.Context, t triple.Triple, app string, value any, version triple.Stamp) (triple.Stamp, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return version, err
	}
	return store.AnnotateIf(ctx, r.Store, t, app, data, store.Condition{Version: version, Absent: version == triple.Stamp{}})
}

// Get returns a subscription. With [ErrUnknown] it has the versions of a half that may be stored.
func (r *Registry) Get(ctx context.Context, name string) (*Subscription, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	reader, err := r.Store.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return read(ctx, reader, entry(name))
}

// read reads the annotations of a subscription's triple. The definition is at least as new as the
// state, so that a worker with a state that it may store notices a new definition.
func read(ctx context.Context, reader store.Reader, t triple.Triple) (*Subscription, error) {
	var found []store.Annotation
	for _, app := range []string{appState, appDefinition} {
		a, err := reader.Annotation(ctx, t, app)
		if err != nil {
			return nil, err
		}
		if a != nil {
			found = append(found, *a)
		}
	}
	return decode(t, found)
}

// errMalformed means that operators have set or loaded annotations that are no subscription's.
var errMalformed = errors.New("the subscription is malformed")

// decode returns the subscription of a triple with some annotations. If one of the two is missing,
// the error is [ErrUnknown], and the versions of what is there are set.
func decode(t triple.Triple, annotations []store.Annotation) (*Subscription, error) {
	s := &Subscription{}
	var definition storedDefinition
	missing := 2
	for _, a := range annotations {
		var into any
		switch a.ApplicationID {
		case appDefinition:
			into, s.definitionVersion = &definition, a.Version
		case appState:
			into, s.version = &s.State, a.Version
		default:
			continue
		}
		missing--
		if err := json.Unmarshal(a.Data, into); err != nil {
			return nil, fmt.Errorf("%w: annotation %s of %s: %w", errMalformed, a.ApplicationID, t.Subject.Value(), err)
		}
	}
	s.Definition, s.operator = definition.Definition, definition.Operator
	// Operators may have loaded the annotations of another one.
	s.Name = t.Subject.Value()[len(namePrefix):]
	if missing > 0 {
		return s, ErrUnknown
	}
	return s, nil
}

// Visible returns a subscription that a caller may see. The error is [ErrUnknown] or [ErrForbidden].
func (r *Registry) Visible(ctx context.Context, by Caller, name string) (*Subscription, error) {
	s, err := r.Get(ctx, name)
	if err == nil && !by.May(s.Owner) {
		return nil, ErrForbidden
	}
	return s, err
}

// Delete removes a subscription. The error is [ErrUnknown], [ErrForbidden] or [ErrReads].
func (r *Registry) Delete(ctx context.Context, by Caller, name string) error {
	// 1. The owner of a half, or of what is malformed, is not known. So only operators may delete it.
	s, err := r.Get(ctx, name)
	if err == nil {
		err = r.mayChange(by, s)
	}
	if err != nil && !(by.All && (errors.Is(err, ErrUnknown) || errors.Is(err, errMalformed))) {
		return err
	}
	// 2. The annotations go with the triple.
	rows, err := r.planReads(ctx, &Definition{Name: name})
	if err == nil {
		err = r.putReads(ctx, rows)
	}
	if err != nil {
		return err
	}
	result, err := store.Delete(ctx, r.Store, []triple.Triple{entry(name)})
	if err == nil && result.Deleted == 0 {
		return ErrUnknown
	}
	return err
}

// all selects the triples of subscriptions, in an order that has no triples of other graphs.
var all = triple.Bounds{Order: triple.GSPO, Prefix: []triple.Term{systemgraph.Graph}, Starts: triple.Starts{Kind: triple.IRI, Text: namePrefix}}

// List returns all subscriptions, sorted by name. One that is being made or deleted is left out. One
// with malformed annotations, as operators may load them, has no more than a name and an error.
func (r *Registry) List(ctx context.Context) ([]*Subscription, error) {
	reader, err := r.Store.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	// One scan reads the triples with their annotations.
	var list []*Subscription
	for row, err := range reader.Range(ctx, all, store.ReadOptions{Annotations: true}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		name := t.Subject.Value()[len(namePrefix):]
		if t != entry(name) || CheckName(name) != nil {
			continue
		}
		s, err := decode(t, row.Annotations)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			s = &Subscription{Definition: Definition{Name: name, Owner: systemgraph.Operators}, State: State{LastError: err.Error()}}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Subscription) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Advance moves the position of a subscription without a webhook: its application has the changes up
// to it. The position never moves back; [Registry.Put] does that.
func (r *Registry) Advance(ctx context.Context, by Caller, name, position string) error {
	to, err := r.position(ctx, position)
	if err != nil {
		return err
	}
	s, err := r.Get(ctx, name)
	if err == nil {
		err = r.mayChange(by, s)
	}
	if err != nil {
		return err
	}
	if s.URL != "" {
		return fmt.Errorf("%w: %s has a webhook, whose answers move its position", ErrInvalid, name)
	}
	if at, err := feed.ParsePosition(s.State.Position); err == nil && (to.IsZero() || at.Source == to.Source && at.Reaches(to)) {
		return nil
	}
	s.State.Position = position
	return r.save(ctx, s)
}

// save stores the state of a subscription unless it has changed since it was read.
func (r *Registry) save(ctx context.Context, s *Subscription) error {
	version, err := r.annotate(ctx, entry(s.Name), appState, s.State, s.version)
	if err == nil {
		s.version = version
	}
	return err
}
