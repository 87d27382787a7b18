// Tests of annotations through a node.

package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

func TestAnnotations(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	ctx := t.Context()
	url, end := serve(context.WithoutCancel(ctx))
	defer end()
	c, err := client.New(url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tr := triple.Triple{Subject: triple.NewIRI("http://example.org/ben"), Predicate: triple.NewIRI("http://example.org/knows"), Object: triple.NewIRI("http://example.org/anna")}
	missing := tr
	missing.Graph = tr.Subject
	// 1. One annotation: its limits, versions and removal.
	large := []byte(strings.Repeat("\xff", triple.MaxAnnotationContent))
	version, err := c.Annotations.Set(ctx, tr, client.Annotation{ApplicationID: "\xff app", Media: "a/b", Content: large}, client.AnnotationCondition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Annotations.Get(ctx, tr, "\xff app")
	if err != nil || a.Version != version || a.Media != "a/b" || string(a.Content) != string(large) {
		t.Errorf("%d bytes of %s, version %s, not %s, %v", len(a.Content), a.Media, a.Version, version, err)
	}
	_, err = c.Annotations.Set(ctx, tr, a, client.AnnotationCondition{Absent: true})
	var e *client.Error
	if !errors.Is(err, client.ErrPrecondition) || !errors.As(err, &e) || e.Version != version {
		t.Errorf("%v, %+v", err, e)
	}
	if _, err := c.Annotations.Set(ctx, missing, a, client.AnnotationCondition{}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	a.Content = append(a.Content, 0)
	if _, err := c.Annotations.Set(ctx, tr, a, client.AnnotationCondition{}); !errors.Is(err, client.ErrTooLarge) {
		t.Error(err)
	}
	for range 2 {
		if err := c.Annotations.Remove(ctx, tr, "\xff app", client.AnnotationCondition{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Annotations.Get(ctx, tr, "\xff app"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	// 2. Many changes, in more than one request. Errors name the change.
	const n = 12
	result, err := c.Annotations.Change(ctx, func(yield func(triple.AnnotationChange, error) bool) {
		for i := range n {
			change := triple.AnnotationChange{Triple: tr, ApplicationID: strings.Repeat("x", i+1), Content: large}
			if i%5 == 4 {
				change.Triple = missing
			}
			if !yield(change, nil) {
				return
			}
		}
	})
	if err != nil || result.Set != n-2 || result.Failed != 2 || len(result.Errors) != 2 || result.Errors[0].Change != 4 || result.Errors[1].Change != 9 ||
		!errors.Is(result.Errors[1].Err, client.ErrNotFound) {
		t.Errorf("%+v, %v", result, err)
	}
	all, err := c.Annotations.List(ctx, tr)
	if err != nil || len(all) != n-2 || all[0].Version == "" || len(all[0].Content) != len(large) {
		t.Errorf("%d annotations, %v", len(all), err)
	}
}
