// Registrations: what a function is attached to, and how it is run.

package functions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// ErrInvalid means that a registration or a module is wrong.
var ErrInvalid = errors.New("invalid update function")

// Mode is when a function runs.
type Mode string

// The modes.
const (
	After Mode = "after" // after the commit; its effects are written
	Check Mode = "check" // before the commit; it may reject the change, and has no effects
)

// Policy is what happens when all tries of a call have failed.
type Policy string

// The policies.
const (
	Skip Policy = "skip" // the failure is recorded, and the next change is taken
	Stop Policy = "stop" // the function stops before the change until it is registered again
)

// Bounds of registrations.
const (
	MaxFunctions   = 256
	MaxModuleBytes = triple.MaxAnnotationBytes - maxRegistrationBytes
	MaxTimeout     = 10 * time.Second
	MaxMemory      = 256 << 20
	DefaultRetries = 3

	maxRegistrationBytes = 64 << 10
	maxRetries           = 20
	maxPatterns          = 16
	maxName              = 100
)

// Registration attaches a module to changes.
type Registration struct {
	Name string `json:"name"`
	Mode Mode   `json:"mode"`
	// Pattern is the text of [triple.ParsePattern]; "" is every triple.
	Pattern string `json:"pattern"`
	// Kinds are names of add, delete and annotate.
	Kinds []string `json:"kinds"`
	// Arguments are patterns of other triples that the function gets. The wildcards ?s, ?p, ?o and ?g
	// are the terms of the changed triple. Without a fourth term a pattern matches all graphs.
	Arguments []string `json:"arguments,omitempty"`
	// Retries is the number of further tries of a call that failed; Then is what follows them.
	Retries int    `json:"retries"`
	Then    Policy `json:"then"`
	// Loads runs the function for each triple of bulk loads, too.
	Loads bool `json:"loads,omitempty"`
	// TimeoutMS and MemoryBytes are limits of one call.
	TimeoutMS   int64 `json:"timeoutMs"`
	MemoryBytes int   `json:"memoryBytes"`

	// Set when the registration is stored.
	ModuleBytes int       `json:"moduleBytes"`
	Generation  string    `json:"generation"` // a random name, kept until the function is deleted
	Registered  time.Time `json:"registered"`
}

// withDefaults fills in missing fields.
func (r Registration) withDefaults() Registration {
	if r.Mode == "" {
		r.Mode = After
	}
	if len(r.Kinds) == 0 {
		r.Kinds = []string{feed.Add.String()}
	}
	if r.Then == "" {
		r.Then = Skip
	}
	if r.TimeoutMS == 0 {
		r.TimeoutMS = 100
	}
	if r.MemoryBytes == 0 {
		r.MemoryBytes = 16 << 20
	}
	return r
}

// checkName returns an error if a name cannot be a part of an IRI and of a path.
func checkName(name string) error {
	ok := len(name) > 0 && len(name) <= maxName && name != "." && name != ".."
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%w: the name %.120q has other characters than letters, digits, '-', '.' and '_', or more than %d", ErrInvalid, name, maxName)
	}
	return nil
}

// attachment is a registration made ready to match changes.
type attachment struct {
	filter    feed.Filter
	matcher   *feed.Matcher
	kinds     [feed.Annotate + 1]bool
	arguments []argument
}

// attach checks a registration with defaults, and makes it ready.
func (r *Registration) attach() (*attachment, error) {
	// 1. Check single values.
	if err := checkName(r.Name); err != nil {
		return nil, err
	}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Mode != After && r.Mode != Check:
		return nil, invalid("mode %q is neither after nor check", r.Mode)
	case r.Then != Skip && r.Then != Stop:
		return nil, invalid("then %q is neither skip nor stop", r.Then)
	case r.Mode == Check && r.Loads:
		return nil, invalid("a check cannot run for bulk loads; loads must say unchecked=true")
	case r.Retries < 0 || r.Retries > maxRetries:
		return nil, invalid("%d retries, not 0 to %d", r.Retries, maxRetries)
	case r.TimeoutMS < 1 || r.TimeoutMS > MaxTimeout.Milliseconds():
		return nil, invalid("a timeout of %d ms, not 1 to %d", r.TimeoutMS, MaxTimeout.Milliseconds())
	case r.MemoryBytes < 64<<10 || r.MemoryBytes > MaxMemory:
		return nil, invalid("%d bytes of memory, not 64 KiB to %d MiB", r.MemoryBytes, MaxMemory>>20)
	case len(r.Arguments) > maxPatterns:
		return nil, invalid("%d argument patterns, at most %d", len(r.Arguments), maxPatterns)
	}
	// 2. Parse the kinds and the pattern.
	a := &attachment{}
	for _, name := range r.Kinds {
		k, err := feed.ParseKind(name)
		if err != nil || k > feed.Annotate {
			return nil, invalid("kind %q is not add, delete or annotate", name)
		}
		a.kinds[k] = true
		a.filter.Kinds = append(a.filter.Kinds, k)
	}
	if r.Loads {
		a.filter.Kinds = append(a.filter.Kinds, feed.Load)
	}
	var err error
	if a.filter.Pattern, err = triple.ParsePattern(r.Pattern); err != nil {
		return nil, invalid("pattern: %v", err)
	}
	if a.filter.Pattern.Graph == systemgraph.Graph {
		return nil, invalid("the pattern is of the system graph, which functions do not see")
	}
	if a.matcher, err = feed.NewMatcher(a.filter); err != nil {
		return nil, invalid("pattern: %v", err)
	}
	for i, text := range r.Arguments {
		arg, err := parseArgument(text)
		if err != nil {
			return nil, invalid("argument pattern %d: %v", i+1, err)
		}
		a.arguments = append(a.arguments, arg)
	}
	return a, nil
}

// matches reports whether the function must be called for a change. Changes of the system graph are
// left out: a function would follow its own state.
func (a *attachment) matches(c *feed.Change) (bool, error) {
	if c.Kind > feed.Annotate || !a.kinds[c.Kind] {
		return false, nil
	}
	if ok, err := a.matcher.Match(c); !ok || err != nil {
		return false, err
	}
	system, err := inSystemGraph(c.Key)
	return !system, err
}

var systemGraphTerm = func() string {
	key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{
		Subject: systemgraph.Graph, Predicate: systemgraph.Graph, Object: systemgraph.Graph, Graph: systemgraph.Graph})
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		panic(err)
	}
	return string(terms[triple.Graph])
}()

// inSystemGraph reports whether a key of SPO lies in the system graph.
func inSystemGraph(key []byte) (bool, error) {
	_, terms, err := triple.SplitKey(key)
	return err == nil && string(terms[triple.Graph]) == systemGraphTerm, err
}

// argument is a pattern with places for terms of the changed triple.
type argument struct {
	pattern triple.Pattern
	from    [4]int // the place in the changed triple that fills a place of the pattern, or -1
}

func parseArgument(text string) (a argument, err error) {
	pattern, names, err := triple.ParseNamedPattern(text)
	if err != nil {
		return a, err
	}
	a.pattern = pattern
	for i, name := range names {
		a.from[i] = strings.Index("spog", name)
		switch {
		case name == "":
			a.from[i] = -1
		case len(name) != 1 || a.from[i] < 0:
			return a, fmt.Errorf("the wildcard ?%s: the names are ?s, ?p, ?o and ?g, the terms of the changed triple", name)
		}
	}
	if pattern.Graph == systemgraph.Graph {
		return a, errors.New("it is of the system graph, which functions do not see")
	}
	return a, nil
}

// bind returns the pattern for a changed triple. ok is false if it cannot match: a subject that is a
// literal, for example.
func (a *argument) bind(t triple.Triple) (p triple.Pattern, ok bool) {
	p = a.pattern
	terms := [...]triple.Term{t.Subject, t.Predicate, t.Object, t.Graph}
	for i, place := range [...]*triple.Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph} {
		if a.from[i] < 0 {
			continue
		}
		*place = terms[a.from[i]]
		if i == triple.Graph && place.IsZero() {
			p.DefaultGraph = true
		}
	}
	_, err := p.Scan(p.Best())
	return p, err == nil
}

// PatternText returns a pattern in the form of [Registration].Pattern.
func PatternText(p triple.Pattern) string {
	if p == (triple.Pattern{}) {
		return ""
	}
	words := make([]string, 4)
	for i, term := range []triple.Term{p.Subject, p.Predicate, p.Object, p.Graph} {
		if words[i] = "?"; !term.IsZero() {
			words[i] = term.String()
		}
	}
	if p.DefaultGraph {
		words[triple.Graph] = "default"
	}
	return strings.Join(words, " ")
}

// limits returns the limits of the function's calls.
func (r *Registration) limits() sandbox.Limits {
	return sandbox.Limits{Timeout: time.Duration(r.TimeoutMS) * time.Millisecond, MemoryBytes: r.MemoryBytes, Arguments: MaxArguments, OutputBytes: maxOutputBytes}
}

// encode returns the annotation that stores a registration: one line of JSON, and the module.
func (r *Registration) encode(module []byte) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(line) >= maxRegistrationBytes {
		return nil, fmt.Errorf("%w: its parameters have %d bytes, at most %d", ErrInvalid, len(line), maxRegistrationBytes)
	}
	return append(append(line, '\n'), module...), nil
}

// decodeRegistration decodes the result of encode. The module shares memory with data.
func decodeRegistration(data []byte) (r Registration, module []byte, err error) {
	line, module, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(line) > maxRegistrationBytes {
		return r, nil, fmt.Errorf("%w: its annotation has no line of JSON", ErrInvalid)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, nil, fmt.Errorf("%w: its annotation: %w", ErrInvalid, err)
	}
	return r, module, nil
}
