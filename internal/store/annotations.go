// Annotations: their versions, conditions on them, and setting many.

package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// Condition is what must hold of an annotation before it is set or removed. The zero Condition
// always holds. At most one field may be set.
type Condition struct {
	// Version, if not zero, must be the annotation's version ([triple.ApplicationData.Version]).
	Version triple.Stamp
	// Absent means that the application must have no annotation on the triple.
	Absent bool
}

// IsZero reports whether c always holds.
func (c Condition) IsZero() bool { return c == Condition{} }

// Check returns an error if c contradicts itself.
func (c Condition) Check() error {
	if c.Absent && c.Version != (triple.Stamp{}) {
		return fmt.Errorf("%w: an annotation cannot have a version and be absent", ErrInvalid)
	}
	return nil
}

// Met returns a [*ConflictError] if c does not hold. The current version is zero if there is no
// annotation.
func (c Condition) Met(current triple.Stamp) error {
	absent := current == triple.Stamp{}
	if c.IsZero() || c.Absent && absent || !c.Absent && c.Version == current {
		return nil
	}
	return &ConflictError{current}
}

// ErrConflict matches every [*ConflictError].
var ErrConflict = errors.New("the annotation has another version")

// ConflictError means that an annotation was not changed, because its condition does not hold.
type ConflictError struct {
	Current triple.Stamp // the annotation's version; zero if there is none
}

// Error implements error.
func (e *ConflictError) Error() string {
	if e.Current == (triple.Stamp{}) {
		return "the application has no annotation on this triple"
	}
	return fmt.Sprintf("%v: it is %s", ErrConflict, FormatVersion(e.Current))
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// FormatVersion returns the text of a version: letters, digits and one dot. Clients must not
// interpret it.
func FormatVersion(v triple.Stamp) string {
	return strconv.FormatUint(v.Epoch, 36) + "." + strconv.FormatUint(v.Sequence, 36)
}

// ParseVersion decodes the result of [FormatVersion]. Its error is an [ErrInvalid].
func ParseVersion(text string) (v triple.Stamp, err error) {
	epoch, sequence, _ := strings.Cut(text, ".")
	v.Epoch, err = strconv.ParseUint(epoch, 36, 64)
	if err == nil {
		v.Sequence, err = strconv.ParseUint(sequence, 36, 64)
	}
	if err != nil || FormatVersion(v) != text || v == (triple.Stamp{}) {
		return triple.Stamp{}, fmt.Errorf("%w: %.80q is not the version of an annotation", ErrInvalid, text)
	}
	return v, nil
}

// Annotated is a triple with the annotations to set.
type Annotated struct {
	Triple      triple.Triple
	Annotations []Annotation
}

// annotateAtOnce is the number of annotations in progress at a time. The waiting ones share a
// commit.
const annotateAtOnce = 256

// AnnotateAll sets annotations as [Annotate] does, many at a time. If an application has several
// annotations on one triple, the last one is set.
// The first error ends the call; some are set then. The call may be repeated.
func AnnotateAll(ctx context.Context, to Writer, all []Annotated) error {
	// 1. Find the last annotation of each triple and application, because they are set in any
	// order.
	type position struct{ triple, annotation int }
	type name struct {
		triple        triple.Triple
		applicationID string
	}
	last := make(map[name]position, len(all))
	for i, t := range all {
		for j, a := range t.Annotations {
			last[name{t.Triple, a.ApplicationID}] = position{i, j}
		}
	}
	// 2. Set these. The channel limits the annotations in progress.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	inProgress := make(chan struct{}, annotateAtOnce)
	for i, t := range all {
		for j, a := range t.Annotations {
			if last[name{t.Triple, a.ApplicationID}] != (position{i, j}) {
				continue
			}
			data := a.Data
			if data == nil {
				data = []byte{} // nil would remove it
			}
			inProgress <- struct{}{}
			running.Go(func() {
				defer func() { <-inProgress }()
				if ctx.Err() != nil {
					return
				}
				if err := Annotate(ctx, to, t.Triple, a.ApplicationID, data); err != nil {
					cancel(err)
				}
			})
		}
	}
	running.Wait()
	return context.Cause(ctx)
}
