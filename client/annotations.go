// Annotations: what applications attach to triples.

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trefoildb/trefoil/triple"
)

// Annotation is what an application has attached to a triple.
type Annotation struct {
	ApplicationID string
	Media         string // the media type of Content
	Content       []byte
	Version       string // opaque; each write makes a new one
}

// AnnotationCondition is what must hold of an annotation before it is set or removed. The zero value
// always holds.
type AnnotationCondition struct {
	Version string // if not "", the annotation must have this version
	Absent  bool   // the application must have no annotation on the triple
}

// Annotations reads and changes what applications attach to triples.
type Annotations struct{ *transport }

// ErrPrecondition means that a condition does not hold, and nothing was changed. The current version
// is in the [*Error].
var ErrPrecondition = errors.New("precondition failed")

func annotationQuery(t triple.Triple, applicationID string) url.Values {
	query := patternQuery(triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: true})
	if applicationID != "" {
		query.Set("app", applicationID)
	}
	return query
}

// Get returns the annotation of an application on t. The error is [ErrNotFound] if there is
// none.
func (c *Annotations) Get(ctx context.Context, t triple.Triple, applicationID string) (Annotation, error) {
	a := Annotation{ApplicationID: applicationID}
	text, header, err := c.send(ctx, call{method: http.MethodGet, target: c.endpoint("/annotations", annotationQuery(t, applicationID))}, triple.MaxAnnotationContent)
	if err == nil {
		a.Media, a.Content = header.Get("Content-Type"), text
		a.Version, err = versionOf(header)
	}
	if err != nil {
		return a, fmt.Errorf("read an annotation: %w", err)
	}
	return a, nil
}

// versionOf returns the version in an ETag; "" if there is none.
func versionOf(header http.Header) (string, error) {
	tag := header.Get("ETag")
	if tag == "" {
		return "", nil
	}
	version, err := strconv.Unquote(tag)
	if err != nil {
		return "", fmt.Errorf("the answer is not a node's: its ETag is %.80q", tag)
	}
	return version, nil
}

// List returns all annotations of t that the client's token may read, by application ID.
func (c *Annotations) List(ctx context.Context, t triple.Triple) ([]Annotation, error) {
	var list struct {
		Annotations []struct {
			App, Type, Version string
			App64, Data        []byte
			Text               *string
		}
	}
	if err := c.get(ctx, c.endpoint("/annotations", annotationQuery(t, "")), &list); err != nil {
		return nil, fmt.Errorf("read annotations: %w", err)
	}
	var all []Annotation
	for _, one := range list.Annotations {
		a := Annotation{one.App, one.Type, one.Data, one.Version}
		if one.App64 != nil {
			a.ApplicationID = string(one.App64)
		}
		if one.Text != nil {
			a.Content = []byte(*one.Text)
		}
		all = append(all, a)
	}
	return all, nil
}

// Set sets the annotation of an application on t if a condition holds, and returns its new
// version. a.Media "" is [triple.DefaultMedia]; a.Version is ignored. If the version is "" without an
// error, an earlier try had set the annotation. The error is [ErrPrecondition] if the condition does
// not hold, and [ErrNotFound] if the triple is missing.
func (c *Annotations) Set(ctx context.Context, t triple.Triple, a Annotation, when AnnotationCondition) (version string, err error) {
	media := a.Media
	if media == "" {
		media = triple.DefaultMedia
	}
	version, err = c.write(ctx, call{method: http.MethodPut, body: a.Content, header: http.Header{"Content-Type": {media}}}, t, a.ApplicationID, when)
	if err != nil {
		return "", fmt.Errorf("annotate: %w", err)
	}
	return version, nil
}

// Remove removes the annotation of an application on t if a condition holds. It is no
// error if there is none.
func (c *Annotations) Remove(ctx context.Context, t triple.Triple, applicationID string, when AnnotationCondition) error {
	if _, err := c.write(ctx, call{method: http.MethodDelete, header: http.Header{}}, t, applicationID, when); err != nil {
		return fmt.Errorf("remove an annotation: %w", err)
	}
	return nil
}

func (c *Annotations) write(ctx context.Context, what call, t triple.Triple, applicationID string, when AnnotationCondition) (string, error) {
	switch {
	case applicationID == "":
		return "", errors.New("the application id is empty")
	case when.Absent && when.Version != "":
		return "", errors.New("an annotation cannot have a version and be absent")
	case when.Absent:
		what.header.Set("If-None-Match", "*")
	case when.Version != "":
		what.header.Set("If-Match", strconv.Quote(when.Version))
	}
	var header http.Header
	what.target, what.answered, what.byTriple = c.endpoint("/annotations", annotationQuery(t, applicationID)), &header, true
	if _, err := c.change(ctx, what, true); err != nil {
		return "", err
	}
	return versionOf(header)
}

// AnnotateResult is the result of [Annotations.Change].
type AnnotateResult struct {
	Set, Removed, Failed int64
	// Errors are those of the first failed changes, at most 100 of each request of some 8 MiB.
	Errors []AnnotateError
}

// AnnotateError is the error of one change.
type AnnotateError struct {
	Change int64 // number of the change, from 0
	Err    *Error
}

// Change makes many changes of annotations, in requests of some 8 MiB. A change that fails
// leaves the others as they are. Changes of one annotation are made in their order. The error is one
// of changes itself or of a request; the result then counts the work before it.
func (c *Annotations) Change(ctx context.Context, changes iter.Seq2[triple.AnnotationChange, error]) (total AnnotateResult, err error) {
	what := call{method: http.MethodPost, target: c.endpoint("/annotations", nil), header: http.Header{"Content-Type": {"application/x-ndjson"}}, byTriple: true}
	var body []byte
	first, count := int64(0), int64(0)
	// 1. Send what was collected.
	flush := func() error {
		if len(body) == 0 {
			return nil
		}
		what.body = body
		text, err := c.change(ctx, what, true)
		if err != nil {
			return err
		}
		var answer struct {
			Set, Removed, Failed int64
			Errors               []struct {
				Line    int64  `json:"line"`
				Kind    string `json:"kind"`
				Message string `json:"message"`
				Where   string `json:"where"`
				Version string `json:"version"`
			}
		}
		if err := decodeJSON(text, &answer); err != nil {
			return err
		}
		total.Set, total.Removed, total.Failed = total.Set+answer.Set, total.Removed+answer.Removed, total.Failed+answer.Failed
		for _, e := range answer.Errors {
			total.Errors = append(total.Errors, AnnotateError{first + e.Line - 1, &Error{Status: http.StatusOK, Kind: e.Kind, Message: e.Message, Where: e.Where, Version: e.Version}})
		}
		first, body = count, nil // a transport may still read the old one
		return nil
	}
	// 2. Collect the changes, a line each.
	for change, err := range changes {
		if err != nil {
			return total, err
		}
		before := len(body)
		if body, err = triple.AppendAnnotationChange(body, &change); err != nil {
			return total, fmt.Errorf("annotate: change %d: %w", count, err)
		}
		if before > 0 && len(body) > batchBytes {
			line := append([]byte(nil), body[before:]...)
			body = body[:before:before]
			if err := flush(); err != nil {
				return total, fmt.Errorf("annotate: %w", err)
			}
			body = line
		}
		count++
	}
	if err := flush(); err != nil {
		return total, fmt.Errorf("annotate: %w", err)
	}
	return total, nil
}

// AddTriples is [Client.Add] for triples with annotations, one list for each triple. The
// annotations of a request are set after its triples, each durably by itself. If it fails, some may
// be set, and all can be sent again.
func (c *Annotations) AddTriples(ctx context.Context, triples []triple.Triple, annotations [][]triple.ApplicationData) (AddResult, error) {
	if len(annotations) != len(triples) {
		return AddResult{}, fmt.Errorf("add: %d lists of annotations for %d triples", len(annotations), len(triples))
	}
	for i := range annotations {
		for j := range annotations[i] {
			if err := annotations[i][j].Check(); err != nil {
				return AddResult{}, fmt.Errorf("add: triple %d: %w", i, err)
			}
		}
	}
	return c.addTriples(ctx, triples, annotations)
}
