// Bulk loads and backups.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/triple"
)

// LoadOptions describe a document and how it is loaded. The zero value is ready to use.
type LoadOptions struct {
	// ContentType is the document's media type; "" is application/n-quads.
	ContentType string
	// ContentEncoding must be gzip or zstd if the document is compressed, and "" otherwise.
	ContentEncoding string
	// Graph is the graph of statements without one; zero is the default graph.
	Graph triple.Term
	// Base resolves relative IRIs.
	Base string
	// KeepGoing leaves malformed statements out. Without it the first one stops the load.
	KeepGoing bool
	// RDFStar reads quoted triples of the drafts of RDF-star, as blank nodes that reify them.
	RDFStar bool
	// Rejects is the number of rejected statements in the summary; 0 is 100, and at most 100,000.
	Rejects int
	// MemoryBytes is the load's memory budget on the node; 0 is the node's default.
	MemoryBytes int64
	// Unchecked loads although there are checks among the update functions, which loads do not run.
	Unchecked bool
	// MaxLineBytes is the greatest line or token; 0 is 64 MiB.
	MaxLineBytes int64
}

// LoadSummary is the result of a load.
type LoadSummary struct {
	ID          string        `json:"id"`
	Read        int64         `json:"read"`        // statements, without rejected ones
	New         int64         `json:"new"`         // distinct triples that were not in the store
	Duplicates  int64         `json:"duplicates"`  // the others
	Rejected    int64         `json:"rejected"`    // malformed statements left out
	Annotations int64         `json:"annotations"` // of the triples
	Bytes       int64         `json:"bytes"`       // read, decompressed
	Duration    time.Duration `json:"duration_ns"`
	Rate        float64       `json:"triples_per_second"`
	PeakMemory  int64         `json:"peak_memory"` // of the node's process, in bytes
	Runs        int           `json:"runs"`        // sorted parts written to disk
	Rejects     []Reject      `json:"rejects"`     // the first rejected statements
	Warnings    []string      `json:"warnings"`    // if the document probably means something else
}

// Reject is a statement left out by a load.
type Reject = api.Reject

// maxSummaryBytes bounds a summary. A node returns rejected statements of up to 16 MiB, and each
// character may be escaped.
const maxSummaryBytes = 128 << 20

// Load sends a document of any size to the node's bulk loader. All of it enters the store, or the
// cluster, at once and durably when Load returns, or nothing does. It is not retried. Blank nodes
// become new ones of the load.
func (c *Client) Load(ctx context.Context, document io.Reader, o LoadOptions) (LoadSummary, error) {
	// 1. Translate the options. 0 must not be sent, because the node rejects it.
	var summary LoadSummary
	query := url.Values{}
	if o.RDFStar {
		query.Set("rdf-star", "true")
	}
	if o.KeepGoing {
		query.Set("keep-going", "true")
	}
	if o.Unchecked {
		query.Set("unchecked", "true")
	}
	if !o.Graph.IsZero() {
		query.Set("graph", o.Graph.String())
	}
	if o.Base != "" {
		query.Set("base", o.Base)
	}
	for name, n := range map[string]int64{"rejects": int64(o.Rejects), "memory": o.MemoryBytes, "max-line": o.MaxLineBytes} {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	header := http.Header{"Content-Type": {mediaNQuads}}
	if o.ContentType != "" {
		header.Set("Content-Type", o.ContentType)
	}
	if o.ContentEncoding != "" {
		header.Set("Content-Encoding", o.ContentEncoding)
	}
	// 2. Send the document. If reading it fails, that error is returned instead of the broken
	// request.
	source := &reportingReader{r: document}
	answer, err := c.try(ctx, call{method: http.MethodPost, target: c.endpoint("/load", query), header: header}, source)
	if err != nil {
		if failed := source.failed(); failed != nil {
			err = failed // why the request broke off
		}
		return summary, fmt.Errorf("load: %w", err)
	}
	defer answer.Body.Close()
	// 3. Read the summary.
	text, err := readAll(answer, maxSummaryBytes)
	if err == nil {
		err = decodeJSON(text, &summary)
	}
	if err != nil {
		return summary, fmt.Errorf("load: %w", unwrapPermanent(err))
	}
	return summary, nil
}

// Backup writes a full backup of the store or cluster to w: a tar archive for trefoil restore. It is
// not retried. If it fails, the bytes in w must not be used.
func (c *Client) Backup(ctx context.Context, w io.Writer) error { return c.backup(ctx, w, nil) }

// BackupSince writes an increment: the changes behind the end of an earlier backup, whose position
// since is. See Backup. If the change feed does not reach back to it, the error's status is 410, and a
// full backup is necessary.
func (c *Admin) BackupSince(ctx context.Context, w io.Writer, since string) error {
	return c.backup(ctx, w, url.Values{"since": {since}})
}

func (c *transport) backup(ctx context.Context, w io.Writer, query url.Values) error {
	answer, err := c.try(ctx, call{method: http.MethodGet, target: c.endpoint("/backup", query)}, nil)
	if err != nil {
		return fmt.Errorf("backup: %w", unwrapPermanent(err))
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("backup: the node broke off: %w", err)
		}
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// RestoreSummary is the result of a restore.
type RestoreSummary struct {
	Triples     int64 `json:"triples"`     // of the full backup
	Annotations int64 `json:"annotations"` // of these triples
	Changes     int64 `json:"changes"`     // of the change feed, without loads
	Loads       int64 `json:"loads"`       // bulk loads of the change feed
	LoadRows    int64 `json:"load_rows"`   // new triples of these loads
}

// Restore fills an empty store or cluster from backups of clusters: a full one and its increments, one
// after the other in archives. until is a time or a position of the change feed; "" is the end of the
// last one. It is not retried. If it fails, the store may have a part, and must be emptied.
func (c *Admin) Restore(ctx context.Context, archives io.Reader, until string) (summary RestoreSummary, err error) {
	query := url.Values{}
	if until != "" {
		query.Set("until", until)
	}
	source := &reportingReader{r: archives}
	answer, err := c.try(ctx, call{method: http.MethodPost, target: c.endpoint("/restore", query), header: http.Header{"Content-Type": {"application/x-tar"}}}, source)
	if err != nil {
		if failed := source.failed(); failed != nil {
			err = failed // why the request broke off
		}
		return summary, fmt.Errorf("restore: %w", unwrapPermanent(err))
	}
	defer answer.Body.Close()
	text, err := readAll(answer, maxSummaryBytes)
	if err == nil {
		err = decodeJSON(text, &summary)
	}
	if err != nil {
		return summary, fmt.Errorf("restore: %w", unwrapPermanent(err))
	}
	return summary, nil
}
