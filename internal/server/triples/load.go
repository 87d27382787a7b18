// POST /load: the bulk path. The body streams into the loader. All of it becomes visible at once,
// or nothing.

package triples

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

var loadParams = []string{"keep-going", "graph", "base", "memory", "max-line", "rejects", "rdf-star", "unchecked"}

const (
	defaultRejects = 100     // statements in an answer
	maxRejects     = 100_000 // the most for a request's own setting
	maxRejectBytes = 16 << 20
	loadWait       = 2 * time.Second // wait for the previous load
)

// Loaded is the answer of POST /load.
type Loaded struct {
	rdfload.Summary
	// Rejects are the first of the rejected statements.
	Rejects []api.Reject `json:"rejects,omitempty"`
}

func (a *API) postLoad(w http.ResponseWriter, r *request.Request) error {
	// 1. Check the header and the parameters.
	s, err := request.SyntaxOf(r)
	if err != nil {
		return err
	}
	report := &rejectReport{most: defaultRejects, room: maxRejectBytes}
	options, err := a.loadOptions(r.Params, report)
	if err != nil {
		return err
	}
	// 2. Wait for the load that runs. Loads must not overlap, because each may take a quarter of
	// the machine's memory. If a client has gone, its load ends soon, so a short wait is useful.
	wait, cancel := context.WithTimeout(r.Context(), loadWait)
	defer cancel()
	select {
	case a.Loads <- struct{}{}:
		defer func() { <-a.Loads }()
	case <-wait.Done():
		return problem.Busyf("another bulk load is running; try again when it has ended")
	}
	// 3. Load. The key must be claimed only when the whole document is read, because it may be
	// malformed.
	options.BeforePublish = func(ctx context.Context) error { return store.Claim(ctx, a.Store) }
	if !r.Caller.All() {
		options.CheckAnnotation = r.Caller.CheckWrite
	}
	options.Prefix, options.Contexts = r.Prefixes.Add, a.Documents.Contexts
	options.CheckGraph = func(graph triple.Term) error {
		graphrights.Touch(r.Context(), graph)
		return systemgraph.Check(r.Context(), graph)
	}
	in, err := request.Open(r, a.maxLoadBytes)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx := r.Context()
	unchecked, err := r.Params.Flag("unchecked")
	if err != nil {
		return err
	}
	if unchecked {
		ctx = functions.WithUnchecked(ctx)
	}
	summary, err := rdfload.Load(ctx, a.Store.Sink(), []input.Source{loadSource(in, r.ContentLength, s)}, options)
	a.CountLoaded(r, summary.New)
	if err != nil {
		return loadError(err, in)
	}
	return response.WriteJSON(w, Loaded{summary, report.statements()})
}

// loadOptions reads the parameters of a load.
func (a *API) loadOptions(p request.Params, report *rejectReport) (o rdfload.Options, err error) {
	// 1. Parse each parameter. Memory is capped by the machine's own limit.
	if o.KeepGoing, err = p.Flag("keep-going"); err != nil {
		return o, err
	}
	if o.RDFStar, err = p.Flag("rdf-star"); err != nil {
		return o, err
	}
	if o.Graph, err = p.Iri("graph"); err != nil {
		return o, err
	}
	base, err := p.Iri("base")
	if err != nil {
		return o, err
	}
	o.Base = base.Value()
	if o.Memory, err = p.Size("memory"); err != nil {
		return o, err
	}
	if most := a.loadMemoryBytes; o.Memory == 0 || most > 0 && o.Memory > most {
		o.Memory = most
	}
	// A line is in memory as a whole, so its bytes are bounded.
	maxLine, err := p.Size("max-line")
	if err != nil {
		return o, err
	}
	if maxLine > 1<<30 {
		return o, problem.Errorf(problem.KindBadParameter, "max-line", "more than 1 GiB")
	}
	o.MaxLine = int(maxLine)
	n, err := p.Number("rejects", 1)
	if err != nil {
		return o, err
	}
	// 0 keeps the default number of rejects in the answer.
	if n > 0 {
		report.most = min(n, maxRejects)
	}
	// 2. Rejects need keep-going, because otherwise the first malformed statement ends the load.
	if o.KeepGoing {
		o.Rejects = report
	} else if n > 0 {
		return o, problem.Errorf(problem.KindBadParameter, "rejects", "is for keep-going=true: without it the first malformed statement ends the load")
	}
	if err := o.Validate(); err != nil {
		return o, problem.Errorf(problem.KindBadParameter, "", "%v", err)
	}
	return o, nil
}

// loadSource returns the body as the source of a load.
func loadSource(in *request.Body, size int64, s syntax.Syntax) input.Source {
	return input.Source{Name: request.BodyName, Size: size, Syntax: s, Open: func() (*input.Reader, error) {
		return input.NewReader(in, request.BodyName, input.Limits{})
	}}
}

func loadError(err error, in *request.Body) error {
	if failed := in.Failed(); failed != nil {
		return failed
	}
	var e *problem.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, rdfload.ErrNoMemory):
		return &problem.Error{Kind: problem.KindTooLarge, Message: err.Error(), Cause: err}
	case errors.Is(err, input.ErrBomb), errors.Is(err, input.ErrTruncated):
		return request.BodyError(err)
	}
	return err
}

// rejectReport keeps the beginning of a load's report of rejected statements:
//
//	# body:LINE:COLUMN: reason
//	the statement, which may have several lines
type rejectReport struct {
	most int // statements
	room int // bytes
	text bytes.Buffer
}

// Write keeps the text if there is room, and always reports success, because a full report must not
// end the load.
func (r *rejectReport) Write(p []byte) (int, error) {
	r.text.Write(p[:min(len(p), r.room-r.text.Len())])
	return len(p), nil
}

var rejectHead = regexp.MustCompile(`(?m)^# (` + request.BodyName + `:[0-9]+:[0-9]+): (.*)\n`)

// statements returns the first of the rejected statements. Bytes that are not UTF-8 are replaced.
func (r *rejectReport) statements() []api.Reject {
	text := r.text.String()
	heads := rejectHead.FindAllStringSubmatchIndex(text, r.most+1)
	var all []api.Reject
	for i, head := range heads {
		if i == r.most {
			break
		}
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		all = append(all, api.Reject{Where: text[head[2]:head[3]], Message: text[head[4]:head[5]],
			Statement: strings.ToValidUTF8(strings.TrimSuffix(text[head[1]:end], "\n"), "\uFFFD")})
	}
	return all
}
