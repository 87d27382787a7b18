// POST /load: the bulk path. The body streams into the loader. All of it becomes
// visible at once, or nothing.

package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

var loadParams = []string{"keep-going", "graph", "base", "memory", "max-line", "rejects"}

const (
	defaultRejects = 100     // statements that an answer names
	maxRejects     = 100_000 // the most that a request may ask for
	maxRejectBytes = 16 << 20
	loadWait       = 2 * time.Second // for the load before it to end
)

// loaded is the answer of POST /load.
type loaded struct {
	rdfload.Summary
	// Rejects are the first of the statements that were left out.
	Rejects []rejected `json:"rejects,omitempty"`
}

// rejected is a statement that was left out.
type rejected struct {
	Where     string `json:"where"`
	Message   string `json:"message"`
	Statement string `json:"statement"`
}

func (a *API) postLoad(w http.ResponseWriter, r *request) error {
	s, err := syntaxOf(r)
	if err != nil {
		return err
	}
	report := &rejectReport{most: defaultRejects, room: maxRejectBytes}
	options, err := a.loadOptions(r.params, report)
	if err != nil {
		return err
	}
	// One at a time: each may take a quarter of the machine's memory. One whose client
	// has gone ends soon.
	wait, cancel := context.WithTimeout(r.Context(), loadWait)
	defer cancel()
	select {
	case a.loads <- struct{}{}:
		defer func() { <-a.loads }()
	case <-wait.Done():
		return busyf("another bulk load is running; try again when it has ended")
	}
	// The document may break off or be malformed: until then the key stays free.
	options.BeforePublish = a.store.Claim
	in, err := openBody(r, a.options.MaxLoadBytes)
	if err != nil {
		return err
	}
	defer in.Close()
	summary, err := a.store.Load(r.Context(), []rdfload.Source{loadSource(in, r.ContentLength, s)}, options)
	a.metrics.rowsWritten.WithLabelValues("loaded").Add(float64(summary.New))
	if err != nil {
		return loadError(err, in)
	}
	return writeJSON(w, loaded{summary, report.statements()})
}

// loadOptions reads the parameters of a load.
func (a *API) loadOptions(p params, report *rejectReport) (o rdfload.Options, err error) {
	if o.KeepGoing, err = p.flag("keep-going"); err != nil {
		return o, err
	}
	if o.Graph, err = p.iri("graph"); err != nil {
		return o, err
	}
	base, err := p.iri("base")
	if err != nil {
		return o, err
	}
	o.Base = base.Value()
	if o.Memory, err = p.size("memory"); err != nil {
		return o, err
	}
	if most := a.options.LoadMemoryBytes; o.Memory == 0 || most > 0 && o.Memory > most {
		o.Memory = most
	}
	maxLine, err := p.size("max-line")
	if err != nil {
		return o, err
	}
	if maxLine > 1<<30 {
		return o, errorf(KindBadParameter, "max-line", "more than 1 GiB")
	}
	o.MaxLine = int(maxLine)
	n, err := p.number("rejects")
	if err != nil {
		return o, err
	}
	if n > 0 {
		report.most = min(n, maxRejects)
	}
	if o.KeepGoing {
		o.Rejects = report
	} else if n > 0 {
		return o, errorf(KindBadParameter, "rejects", "is for keep-going=true: without it the first malformed statement ends the load")
	}
	if err := o.Validate(); err != nil {
		return o, errorf(KindBadParameter, "", "%v", err)
	}
	return o, nil
}

// loadSource returns the body as what a load reads.
func loadSource(in *body, size int64, s syntax.Syntax) rdfload.Source {
	return rdfload.Source{Name: bodyName, Size: size, Syntax: s, Open: func() (*input.Reader, error) {
		return input.NewReader(in, bodyName, input.Limits{})
	}}
}

func loadError(err error, in *body) error {
	if failed := in.failed(); failed != nil {
		return failed
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, rdfload.ErrNoMemory):
		return &Error{Kind: KindTooLarge, Message: err.Error(), cause: err}
	case errors.Is(err, input.ErrBomb), errors.Is(err, input.ErrTruncated):
		return bodyError(err)
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

// Write takes what there is room for, and the rest as if there were.
func (r *rejectReport) Write(p []byte) (int, error) {
	r.text.Write(p[:min(len(p), r.room-r.text.Len())])
	return len(p), nil
}

var rejectHead = regexp.MustCompile(`(?m)^# (` + bodyName + `:[0-9]+:[0-9]+): (.*)\n`)

// statements returns the first of the rejected statements.
func (r *rejectReport) statements() []rejected {
	text := r.text.String()
	heads := rejectHead.FindAllStringSubmatchIndex(text, r.most+1)
	var all []rejected
	for i, head := range heads {
		if i == r.most {
			break
		}
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		all = append(all, rejected{Where: text[head[2]:head[3]], Message: text[head[4]:head[5]],
			Statement: strings.ToValidUTF8(strings.TrimSuffix(text[head[1]:end], "\n"), "\uFFFD")})
	}
	return all
}
