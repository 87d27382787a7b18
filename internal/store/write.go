// Writes: the kinds of a change, and a function for each.

package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// Writer makes changes. A function below makes each kind of them. What wraps a store, to check changes or to
// limit them, implements Write alone.
type Writer interface {
	// Write makes a change, durably when it returns. A cluster changes triple by triple: if a change
	// fails, the result counts the part that is done.
	//
	// If ctx ends before the write begins, the change is withdrawn. After [ErrUnknown] it may be done
	// or not. A part that was done before under the key of ctx ([WithRequestKey]) is not repeated.
	Write(ctx context.Context, c Change) (Result, error)
}

// Kind is the kind of a change.
type Kind uint8

// The kinds of changes; see the functions of these names.
const (
	KindAdd Kind = iota
	KindDelete
	KindDeleteMatch
	KindAnnotate
	KindApply
	KindUpdate
	KindClaim
	kindEdit     // of a request: a small KindApply without clears; it may share a group
	kindJob      // of a request of another package; shares groups with its own kind
	kindJobAlone // like kindJob, but in a group of its own
)

// String returns what a change does, for errors.
func (k Kind) String() string {
	return [...]string{"add", "delete", "delete matches", "annotate", "apply changes", "update", "claim", "edit", "job", "job"}[k]
}

// Change is one change of a store. Its kind says which of the other fields it has.
type Change struct {
	Kind    Kind
	Triples []triple.Triple // of KindAdd and KindDelete; the one of KindAnnotate
	// Pattern is of KindDeleteMatch. Triples of the graph Keep stay, if it is set.
	Pattern triple.Pattern
	Keep    triple.Term
	// Annotation is of KindAnnotate. If its data is nil, the annotation is removed. When is its condition.
	Annotation Annotation
	When       Condition
	Steps      Steps                       // of KindApply
	Update     func(Reader) (Steps, error) // of KindUpdate
}

// Result counts the triples of a change.
type Result struct {
	// Added is the number of triples that the store did not hold, and Existing of the others, of KindAdd. Of
	// equal triples, one counts as added. KindApply and KindUpdate count the added ones alone.
	Added, Existing int64
	// Deleted is the number of triples that the store held, and Missing of the others.
	Deleted, Missing int64
	// Version is the new version of an annotation; zero if it is removed, or if the request was done before.
	Version triple.Stamp
}

// Steps are a change of any size: graphs are cleared, then triples deleted, then triples added.
type Steps struct {
	// ClearAll removes all triples, ClearDefault the triples of the default graph, and ClearGraphs
	// the triples of named graphs. A graph's name must be an IRI or a blank node. It is no error
	// if a graph is missing.
	ClearAll, ClearDefault bool
	ClearGraphs            []triple.Term

	// Delete and Add yield the triples; nil is none. Each is read once, before anything is
	// written, and may read a snapshot. Blank nodes keep their labels.
	Delete, Add iter.Seq[triple.Triple]
	// Err, if set, is called when both have been read. If it returns an error, as of an input
	// file, the change is rejected.
	Err func() error

	// Absent, if set, reports whether triple number of Add (from 0) was absent after sequence
	// AbsentSince of the feed. If its predicate is watched and it cannot have changed since, the
	// store need not look it up. Absent is called while Add is read.
	Absent      func(number int) bool
	AbsentSince uint64

	// MaxBytes limits the keys and values of the change. 0 is 256 MiB; the maximum is 1 GiB.
	// During the write, the change takes about three times as much memory.
	MaxBytes int64
}

// Add adds triples. Labels of blank nodes are kept. A lone store adds a list of up to 8 MiB as a whole, all
// or nothing. It keeps nothing of triples. What was done before under the key of ctx counts as existing.
func Add(ctx context.Context, to Writer, triples []triple.Triple) (Result, error) {
	return to.Write(ctx, Change{Kind: KindAdd, Triples: triples})
}

// Delete removes triples with their annotations; see [Add]. If a triple has no graph, it is of the default
// graph.
func Delete(ctx context.Context, from Writer, triples []triple.Triple) (Result, error) {
	return from.Write(ctx, Change{Kind: KindDelete, Triples: triples})
}

// DeleteMatch deletes the triples that match p at the call, in batches. If it fails, the result counts the
// deleted ones. If it began before under the key of ctx, it returns [ErrBegun].
func DeleteMatch(ctx context.Context, from Writer, p triple.Pattern) (Result, error) {
	return from.Write(ctx, Change{Kind: KindDeleteMatch, Pattern: p})
}

// Annotate sets an application's annotation of a triple. If data is nil, it removes the annotation. The
// application ID is 1 to 255 bytes. It returns [ErrNotFound] if the triple is missing.
func Annotate(ctx context.Context, to Writer, t triple.Triple, applicationID string, data []byte) error {
	_, err := AnnotateIf(ctx, to, t, applicationID, data, Condition{})
	return err
}

// AnnotateIf sets or removes an annotation as [Annotate] does if a condition holds, and returns its new
// version. If the condition does not hold, the error is a [*ConflictError]. Calls for one annotation are
// linearizable. If the request of ctx was done before under its key, nothing is done again, and the version
// is zero.
func AnnotateIf(ctx context.Context, to Writer, t triple.Triple, applicationID string, data []byte, when Condition) (triple.Stamp, error) {
	r, err := to.Write(ctx, Change{
		Kind: KindAnnotate, Triples: []triple.Triple{t}, Annotation: Annotation{ApplicationID: applicationID, Data: data}, When: when,
	})
	return r.Version, err
}

// Apply makes a change of several steps. A lone store makes it as a whole: after a crash all of it is there
// or nothing. In a cluster it is one transaction, with limits (docs/GUARANTEES.md). Annotations go with their triples. Apply returns
// [ErrTooLarge] and writes nothing if the change is larger than MaxBytes.
//
// The steps count one after the other. If a triple exists, is deleted and added again, it counts as deleted
// and as added, and its annotations are gone. [ErrDone] means that the change was made before under the key
// of ctx. A change that only clears and deletes may use half of the reserved disk space.
func Apply(ctx context.Context, to Writer, steps Steps) (Result, error) {
	return to.Write(ctx, Change{Kind: KindApply, Steps: steps})
}

// Update makes a change that depends on the current triples. f reads a snapshot and returns the change,
// which is made as by [Apply]. One update of a lone store, or of a cluster, runs at a time, on
// the result of the one before. The others wait until their contexts end. Other changes do not wait. If one
// comes between the snapshot and the change, f has not seen it.
//
// The snapshot is closed when the iterators of the change have been read. If f returns an error, nothing is
// changed, and the error is returned unchanged.
func Update(ctx context.Context, to Writer, f func(Reader) (Steps, error)) (Result, error) {
	return to.Write(ctx, Change{Kind: KindUpdate, Update: f})
}

// Claim records durably that the request of ctx begins, if it has a key. It returns [ErrBegun] if the
// request began before. Requests that cannot be repeated triple by triple must claim.
func Claim(ctx context.Context, to Writer) error {
	_, err := to.Write(ctx, Change{Kind: KindClaim})
	return err
}

// MaxAnnotationBytes is the maximum size of the data of one annotation.
const MaxAnnotationBytes = triple.MaxAnnotationBytes

// Write makes a change; see [Writer].
func (s *Store) Write(ctx context.Context, c Change) (r Result, err error) {
	// 1. A store that is read-only, or a member's, rejects all kinds.
	if c.Kind == KindClaim && RequestKeyOf(ctx) == nil {
		return r, nil
	}
	if s.options.ReadOnly {
		return r, fault.Wrap(c.Kind.String(), ErrReadOnly)
	}
	if err := s.member.checkAlone(); err != nil {
		return r, fault.Wrap(c.Kind.String(), err)
	}
	// 2. Errors say once what was done. A delete of matches is made of deletes, and an update returns the errors
	// of its caller unchanged.
	switch c.Kind {
	case KindAdd:
		r.Added, r.Existing, err = s.writeTriples(ctx, c)
	case KindDelete:
		r.Deleted, r.Missing, err = s.writeTriples(ctx, c)
	case KindDeleteMatch:
		return s.deleteMatch(ctx, c)
	case KindAnnotate:
		r.Version, err = s.annotate(ctx, c)
	case KindApply:
		r, err = s.apply(ctx, c.Steps)
	case KindUpdate:
		return s.update(ctx, c.Update)
	case KindClaim:
		err = s.claim(ctx)
	}
	return r, fault.Wrap(c.Kind.String(), err)
}

func (s *Store) writeTriples(ctx context.Context, c Change) (changed, unchanged int64, err error) {
	requests, err := newRequests(c.Kind, c.Triples, RequestKeyOf(ctx))
	if err != nil {
		return 0, 0, err
	}
	for _, r := range requests {
		if err := s.committer.do(ctx, r); err != nil {
			return changed, unchanged, err
		}
		changed += r.changed
		unchanged += r.unchanged
	}
	return changed, unchanged, nil
}

// deleteBatch is the number of triples in one batch of deleteMatch.
const deleteBatch = 10_000

// deleteMatch deletes what a snapshot has, because triples that come later must stay.
func (s *Store) deleteMatch(ctx context.Context, c Change) (Result, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return Result{}, err
	}
	defer sn.Close()
	return DeleteRows(ctx, s, sn, c, deleteBatch, func() error { return Claim(ctx, s) })
}

// DeleteRows deletes the rows of a reader that a change of [KindDeleteMatch] deletes, in batches. It calls
// claim right before the first one, because the request may be repeated if it fails earlier.
func DeleteRows(ctx context.Context, from Writer, r Reader, c Change, batchSize int, claim func() error) (total Result, err error) {
	// 1. Batches bound the memory, and the size of a commit.
	var batch []triple.Triple
	claim = sync.OnceValue(claim)
	flush := func() error {
		if err := claim(); err != nil {
			return err
		}
		r, err := Delete(WithRequestKey(ctx, "", true), from, batch)
		total.Deleted += r.Deleted
		total.Missing += r.Missing
		batch = batch[:0]
		return err
	}
	// 2. All are of one reader, because triples that come later must stay.
	for row, err := range r.Match(ctx, c.Pattern, ReadOptions{}) {
		if err != nil {
			return total, err
		}
		t, err := row.Triple()
		if err != nil {
			return total, fault.Wrap(c.Kind.String(), err)
		}
		if !c.Keep.IsZero() && t.Graph == c.Keep {
			continue
		}
		if batch = append(batch, t); len(batch) == batchSize {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

func (s *Store) annotate(ctx context.Context, c Change) (triple.Stamp, error) {
	// 1. Check the arguments, because the committer takes them as they are.
	t, applicationID, data := c.Triples[0], c.Annotation.ApplicationID, c.Annotation.Data
	if err := cmp.Or(CheckAnnotation(applicationID, data), c.When.Check(), t.Check()); err != nil {
		return triple.Stamp{}, err
	}
	// 2. Commit.
	r := newRequest(KindAnnotate, 1)
	r.add(new(encoder), t)
	r.applicationID, r.when = applicationID, c.When
	if key := RequestKeyOf(ctx); key != nil {
		r.tokens = []Token{key.Token(OperationAnnotate, triple.AppendAnnotationKey(nil, r.key(&r.items[0], 0)[1:], applicationID))}
	}
	if data != nil {
		r.data = append([]byte{}, data...)
		r.size += int64(3 * len(data))
	}
	if err := s.committer.do(ctx, r); err != nil {
		return triple.Stamp{}, err // r may still be written
	}
	return r.version, nil
}

// claim records the token of the request of ctx, if it has a key.
func (s *Store) claim(ctx context.Context) error {
	key := RequestKeyOf(ctx)
	if key == nil {
		return nil
	}
	r := newRequest(KindClaim, 0)
	r.tokens, r.size = []Token{key.Claim()}, itemBytes
	err := s.committer.do(ctx, r)
	if err == nil && r.unchanged > 0 {
		err = ErrBegun
	}
	return err
}

// CheckAnnotation returns an error if an annotation cannot be stored.
func CheckAnnotation(applicationID string, data []byte) error {
	switch {
	case len(applicationID) == 0 || len(applicationID) > triple.MaxApplicationID:
		return fmt.Errorf("%w: the application id has %d bytes, not 1 to %d", ErrInvalid, len(applicationID), triple.MaxApplicationID)
	case len(data) > MaxAnnotationBytes:
		return fmt.Errorf("%w: %d bytes of data, at most %d", ErrInvalid, len(data), MaxAnnotationBytes)
	}
	return nil
}
