// The change feed: every committed change, in order, across broken connections.

package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// ErrGone means that the change feed no longer reaches back to a position. Read the rows again,
// then continue at [Error.Continue].
var ErrGone = errors.New("the change feed no longer reaches back to the position")

// Change is one change in the feed.
type Change struct {
	// Kind is "add", "delete", "annotate", "load", "clear", of subscriptions "read" or, without a
	// change, "heartbeat".
	Kind string
	// Triple is that of an add, a delete or an annotate.
	Triple triple.Triple
	// Application, MediaType and Data are those of an annotate. Removed is set if the annotation is
	// gone.
	Application string
	MediaType   string
	Data        []byte
	Removed     bool
	// Load is the ID of a bulk load. New is its number of added triples; -1 if unknown.
	Load string
	New  int64
	// All, Default and Graphs are the graphs that a clear has emptied.
	All, Default bool
	Graphs       []triple.Term
	// Read is set if Kind is "read".
	Read *ReadCount
	// Epoch, Sequence and Sequencer identify a change together with its triple. A change that
	// comes twice has the same ones.
	Epoch, Sequence uint64
	Sequencer       string
	Time            time.Time
	// Position is behind this change. It is "" if more changes of the same commit follow. A
	// consumer that has processed the change stores it, to continue there.
	Position string
	// Line is the change as the node sent it: one JSON object. It is valid until the next change.
	Line []byte
}

// ReadCount is how often a caller has read a pattern.
type ReadCount struct {
	// Pattern has the terms that all rows of the reads share. If Other is set, it is unknown, because
	// a node counts a bounded number of patterns.
	Pattern triple.Pattern
	Other   bool
	// Long names the positions of the pattern, of s, p, o and g, whose terms are too long to be shown.
	Long []string
	// Caller is "anonymous", "client", "operator" or "application"; Application is its ID then. Both
	// are "" of others.
	Caller, Application string
	// Reads is the number of scans, Rows that of the rows that they returned. The first scan ended at
	// First, the last one at Last.
	Reads, Rows int64
	First, Last time.Time
	// Run and Batch identify the batch: those of a batch that comes again are equal.
	Run   string
	Batch uint64
}

// Feed is the change feed: all changes of the store, in order.
type Feed struct{ *transport }

// ChangesOptions select a part of the feed. The zero value is all changes from now on.
type ChangesOptions struct {
	// Since is the position to continue at. "" is now; "0" is the oldest change that is kept.
	Since   string
	Pattern triple.Pattern
	// Bounds, if set, selects triples in a range of one order, too.
	Bounds *triple.Bounds
	// Kinds are the kinds of changes; empty is all.
	Kinds []string
	// Application selects the annotations of one application.
	Application string
	// Subscription is the name of a subscription, whose filter replaces Pattern, Bounds, Kinds and
	// Application. Reads are counted for subscriptions only.
	Subscription string
	// Expand requests the triples of bulk loads as adds before each load.
	Expand bool
	// End ends the changes at the current end of the feed.
	End bool
	// Heartbeats yields heartbeats, too. Their positions move although nothing matches.
	Heartbeats bool
}

// Position returns the current end of the change feed. Read rows after it, and follow the feed from
// it: then nothing is missed.
func (c *Feed) Position(ctx context.Context) (string, error) {
	var answer struct{ Position string }
	if err := c.get(ctx, c.endpoint("/changes/position", nil), &answer); err != nil {
		return "", fmt.Errorf("position of the change feed: %w", err)
	}
	return answer.Position, nil
}

// Changes yields changes in order. If the connection breaks, or is silent for three heartbeats, it
// connects again behind the last position; some changes may then come twice. It gives up, with an
// error, after Options.Retries failures in a row without a whole commit between them. If ctx ends, so do the
// changes, with its error.
func (c *Feed) Changes(ctx context.Context, o ChangesOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		// 1. Without a position the first connection could break before its first line, and changes
		// would be lost.
		f := follower{transport: c.transport, options: o, since: o.Since, yield: yield}
		if f.since == "" {
			var err error
			if f.since, err = c.Position(ctx); err != nil {
				yield(Change{}, err)
				return
			}
		}
		// 2. Connect until the feed ends. A connection that got further clears the count of failures.
		for !f.done {
			err := c.retry(ctx, func() error { return f.connect(ctx) })
			if errors.Is(err, errProgress) {
				// A node that breaks off at once must not be flooded.
				if err = c.options.Sleep(ctx, c.backoff(1)); err == nil {
					continue
				}
			}
			if err != nil && !f.stopped {
				yield(Change{}, fmt.Errorf("changes: %w", err))
			}
			return
		}
	}
}

// errProgress ends a connection that broke after it got further, so the count of retries begins
// again.
var errProgress = errors.New("the connection broke after whole commits had arrived")

// follower follows the feed across connections.
type follower struct {
	*transport
	options ChangesOptions
	since   string
	yield   func(Change, error) bool
	stopped bool // the loop over the changes has ended
	done    bool // the feed has ended
	// inside means that a part of the commit behind since has arrived. Then only a position behind it is
	// progress: a connection that always breaks inside of the commit gets it from its beginning for ever.
	inside bool
}

// heartbeat is the pause between heartbeats. A connection that is silent three times as long is
// broken.
const heartbeat = 10 * time.Second

// connect reads the feed from f.since until the connection ends.
func (f *follower) connect(ctx context.Context) error {
	// 1. Send the request. A timer ends it if the node falls silent.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(3*heartbeat, func() { cancel(errSilent) })
	defer silent.Stop()
	answer, err := f.try(ctx, call{
		method: http.MethodGet, target: f.endpoint("/changes", f.query()), header: http.Header{"Accept": {"application/x-ndjson"}},
	}, http.NoBody)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer answer.Body.Close()
	// 2. Read its lines. The time that the consumer takes for one is not the node's.
	lines := bufio.NewReaderSize(answer.Body, 64<<10)
	for progress := false; ; {
		line, err := readLine(lines)
		if err == io.EOF && f.options.End {
			f.done = true
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // a followed feed has no end
		}
		if err == nil {
			silent.Stop()
			var further bool
			further, err = f.take(line)
			progress = progress || further
			silent.Reset(3 * heartbeat)
		}
		if f.stopped {
			f.done = true
			return nil
		}
		// 3. A failure behind progress is the first one in a row.
		if cause := context.Cause(ctx); err != nil && progress && mayPass(err) && (cause == nil || errors.Is(cause, errSilent)) {
			return &permanent{errProgress}
		}
		if err != nil {
			return causeOf(ctx, err)
		}
	}
}

var errSilent = errors.New("the node fell silent")

// causeOf returns the cause of the end of ctx, if it has ended, else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// take decodes a line, remembers its position and yields its change. It reports whether the line is progress: a
// position behind a commit, or a heartbeat at the end of the feed.
func (f *follower) take(line []byte) (progress bool, err error) {
	change, err := parseChange(line)
	if err != nil {
		return false, err
	}
	if change.Kind != "heartbeat" || f.options.Heartbeats {
		f.stopped = !f.yield(change, nil)
	}
	switch {
	case change.Position == "":
		f.inside = true
	case change.Position != f.since || !f.inside:
		f.since, f.inside, progress = change.Position, false, true
	}
	return progress, nil
}

// maxChangeBytes bounds a line: a triple of four terms of 16 MiB, with each character escaped.
const maxChangeBytes = maxPageBytes

// readLine returns the next line without its end. It is valid until the next call. A line without
// an end is an error, because the answer broke off in it.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		var long bytes.Buffer
		for err == bufio.ErrBufferFull && long.Len() < maxChangeBytes {
			long.Write(line)
			line, err = r.ReadSlice('\n')
		}
		long.Write(line)
		line = long.Bytes()
	}
	switch {
	case err == io.EOF && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	case err == bufio.ErrBufferFull:
		return nil, &permanent{fmt.Errorf("a change has more than %d bytes", maxChangeBytes)}
	case err != nil:
		return nil, err
	}
	return line[:len(line)-1], nil
}

// query returns the parameters of the next connection.
func (f *follower) query() url.Values {
	o := &f.options
	query := patternQuery(o.Pattern)
	if o.Bounds != nil {
		for name, values := range boundsQuery(*o.Bounds, false) {
			query[name] = values
		}
	}
	query.Set("since", f.since)
	query.Set("heartbeat", strconv.Itoa(int(heartbeat/time.Second)))
	if len(o.Kinds) > 0 {
		query.Set("kinds", strings.Join(o.Kinds, ","))
	}
	if o.Application != "" {
		query.Set("app", o.Application)
	}
	if o.Subscription != "" {
		query.Set("subscription", o.Subscription)
	}
	if o.Expand {
		query.Set("expand", "true")
	}
	if o.End {
		query.Set("follow", "false")
	}
	return query
}
