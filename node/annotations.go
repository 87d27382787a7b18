// Annotations of a store.

package node

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Annotations reads and changes what applications attach to triples. Its methods are those of
// [client.Annotations].
type Annotations struct{ store *Store }

// Get returns the annotation of an application on t. The error is [ErrNotFound] if there is none.
func (a *Annotations) Get(ctx context.Context, t triple.Triple, applicationID string) (client.Annotation, error) {
	sn, err := a.store.Snapshot()
	if err != nil {
		return client.Annotation{}, err
	}
	defer sn.Close()
	found, err := sn.snapshot.Annotation(ctx, t, applicationID)
	if err == nil && found == nil {
		err = fmt.Errorf("%w with an annotation of this application", ErrNotFound)
	}
	if err != nil {
		return client.Annotation{}, failed(fmt.Errorf("read an annotation: %w", err))
	}
	return annotationOf(*found), nil
}

// List returns all annotations of t, by application ID. The error is [ErrNotFound] if t is missing.
func (a *Annotations) List(ctx context.Context, t triple.Triple) (all []client.Annotation, err error) {
	sn, err := a.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	for one, err := range sn.snapshot.Annotations(ctx, t) {
		if err != nil {
			return nil, failed(fmt.Errorf("read annotations: %w", err))
		}
		all = append(all, annotationOf(one))
	}
	if len(all) > 0 {
		return all, nil
	}
	has, err := sn.Has(ctx, t)
	if err == nil && !has {
		err = ErrNotFound
	}
	if err != nil {
		return nil, failed(fmt.Errorf("read annotations: %w", err))
	}
	return nil, nil
}

func annotationOf(a store.Annotation) client.Annotation {
	media, content := triple.CutMedia(a.Data)
	return client.Annotation{ApplicationID: a.ApplicationID, Media: media, Content: content, Version: store.FormatVersion(a.Version)}
}

// Set sets the annotation of an application on t if a condition holds, and returns its new version. a.Media
// "" is [triple.DefaultMedia]; a.Version is ignored. The error is [client.ErrPrecondition] if the condition
// does not hold, and [ErrNotFound] if t is missing.
func (a *Annotations) Set(ctx context.Context, t triple.Triple, to client.Annotation, when client.AnnotationCondition) (version string, err error) {
	stamp, err := a.write(ctx, &triple.AnnotationChange{Triple: t, ApplicationID: to.ApplicationID, Media: to.Media, Content: to.Content, Version: when.Version, Absent: when.Absent})
	if err != nil {
		return "", failed(fmt.Errorf("annotate: %w", err))
	}
	return store.FormatVersion(stamp), nil
}

// Remove removes the annotation of an application on t if a condition holds. It is no error if there is none.
func (a *Annotations) Remove(ctx context.Context, t triple.Triple, applicationID string, when client.AnnotationCondition) error {
	_, err := a.write(ctx, &triple.AnnotationChange{Triple: t, ApplicationID: applicationID, Remove: true, Version: when.Version, Absent: when.Absent})
	if err != nil {
		return failed(fmt.Errorf("remove an annotation: %w", err))
	}
	return nil
}

func (a *Annotations) write(ctx context.Context, c *triple.AnnotationChange) (stamp triple.Stamp, err error) {
	when := store.Condition{Absent: c.Absent}
	if c.Version != "" {
		if when.Version, err = store.ParseVersion(c.Version); err != nil {
			return stamp, fmt.Errorf("%w: %w", store.ErrConflict, err) // no annotation has it
		}
	}
	var data []byte
	if !c.Remove {
		if data, err = triple.AppendMedia([]byte{}, c.Media, c.Content); err != nil {
			return stamp, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
	}
	return store.AnnotateIf(ctx, a.store.db, c.Triple, c.ApplicationID, data, when)
}

// Change makes many changes of annotations, one after the other. A change that fails leaves the others as
// they are.
func (a *Annotations) Change(ctx context.Context, changes iter.Seq2[triple.AnnotationChange, error]) (total client.AnnotateResult, err error) {
	n := int64(-1)
	for c, err := range changes {
		if err != nil {
			return total, err
		}
		n++
		_, err = a.write(ctx, &c)
		switch {
		case err == nil && c.Remove:
			total.Removed++
		case err == nil:
			total.Set++
		// Only its own errors leave the changes after it as they are.
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrInvalid):
			total.Failed++
			total.Errors = append(total.Errors, client.AnnotateError{Change: n, Err: &client.Error{Kind: string(problem.As(err).Kind), Message: err.Error()}})
		default:
			return total, failed(fmt.Errorf("annotate: change %d: %w", n, err))
		}
	}
	return total, nil
}

// AddTriples adds triples, and then sets their annotations: one list for each triple.
func (a *Annotations) AddTriples(ctx context.Context, triples []triple.Triple, annotations [][]triple.ApplicationData) (AddResult, error) {
	if len(annotations) != len(triples) {
		return AddResult{}, fmt.Errorf("add: %d lists of annotations for %d triples", len(annotations), len(triples))
	}
	r, err := a.store.Add(ctx, triples)
	if err != nil {
		return r, err
	}
	annotated := make([]store.Annotated, len(triples))
	for i, t := range triples {
		annotated[i] = store.Annotated{Triple: t, Annotations: annotations[i]}
	}
	return r, failed(store.AnnotateAll(ctx, a.store.db, annotated))
}
