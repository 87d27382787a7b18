// What a request to /sparql says: a text, a dataset, and how it is answered.

package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// Media types of bodies.
const (
	typeForm   = "application/x-www-form-urlencoded"
	typeQuery  = "application/sparql-query"
	typeUpdate = "application/sparql-update"
)

const (
	// maxSPARQLBytes is the greatest text of a query or update.
	maxSPARQLBytes = parser.DefaultMaxBytes
	// maxFormBytes is the greatest form: of a text each byte of which is escaped.
	maxFormBytes = 3*maxSPARQLBytes + 1<<20
	// maxGraphs is the most graphs that a request may name.
	maxGraphs = 10_000
	// maxFormats is how many names of formats a request may give; more are passed over.
	maxFormats = 8
	// textWeight is what a byte of a text costs until it is answered: itself and the
	// tree that it makes.
	textWeight = 4
	// minTextsBytes is the least budget of texts.
	minTextsBytes = 4 << 20
)

// Where parameters stand; the protocol has all of them in one of the two.
const (
	whereURL  = "the URL"
	whereBody = "the form"
)

// operation is one request to /sparql.
type operation struct {
	given   map[string]string // the parameters that are there once at most
	text    string            // the query or update
	params  engine.Params
	formats []string // names of formats, by preference

	explain explainMode
	// The graphs of queries, and those of updates.
	defaultGraphs, namedGraphs, usingGraphs, usingNamedGraphs []string
}

type explainMode uint8

const (
	explainNo   explainMode = iota
	explainPlan             // the plan with estimates; nothing runs
	explainRun              // the plan after a run, the result of which is only counted
)

// onceParams are the parameters that are given at most once.
var onceParams = []string{"query", "update", "explain", "timeout"}

func (op *operation) has(name string) bool { _, ok := op.given[name]; return ok }

func (op *operation) isUpdate() bool { return op.has("update") }

// addParams reads a form, or the query of a URL.
//
// Parameters that the door does not know are passed over, for clients send those
// of other stores along; but what looks like the name of a graph is an error: it
// would answer another question.
func (op *operation) addParams(raw, where string) error {
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return errorf(KindBadRequest, "", "a parameter's name in %s: %v", where, err)
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return errorf(KindBadParameter, clip(name), "in %s: %v", where, err)
		}
		if err := op.add(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (op *operation) add(name, value string) error {
	var graphs *[]string
	switch name {
	case "default-graph-uri":
		graphs = &op.defaultGraphs
	case "named-graph-uri":
		graphs = &op.namedGraphs
	case "using-graph-uri":
		graphs = &op.usingGraphs
	case "using-named-graph-uri":
		graphs = &op.usingNamedGraphs
	case "format": // more than once, since SPARQLWrapper says a name and a media type
		if value != "" && len(op.formats) < maxFormats {
			op.formats = append(op.formats, value)
		}
		return nil
	default:
		if strings.Contains(strings.ToLower(name), "graph") {
			return errorf(KindBadParameter, clip(name),
				"unknown parameter; graphs are named by default-graph-uri and named-graph-uri, of updates by using-graph-uri and using-named-graph-uri")
		}
		if !slices.Contains(onceParams, name) {
			return nil
		}
		if op.has(name) {
			return errorf(KindBadParameter, name, "given more than once")
		}
		if op.given == nil {
			op.given = map[string]string{}
		}
		op.given[name] = value
		return nil
	}
	if len(*graphs) == maxGraphs {
		return errorf(KindBadParameter, name, "given more than %d times", maxGraphs)
	}
	if err := triple.CheckIRI(value); err != nil {
		return errorf(KindBadParameter, name, "not an absolute IRI: %v", err)
	}
	*graphs = append(*graphs, value)
	return nil
}

// check completes the operation from its parameters.
func (op *operation) check() error {
	query, update := op.has("query"), op.has("update")
	switch {
	case query && update:
		return errorf(KindBadRequest, "", "both query and update; give one")
	case !query && !update:
		return errorf(KindBadRequest, "query", "is missing; so is update")
	case query && len(op.usingGraphs)+len(op.usingNamedGraphs) > 0:
		return errorf(KindBadRequest, "", "using-graph-uri and using-named-graph-uri go with an update; those of a query are default-graph-uri and named-graph-uri")
	case update && len(op.defaultGraphs)+len(op.namedGraphs) > 0:
		return errorf(KindBadRequest, "", "default-graph-uri and named-graph-uri go with a query; those of an update are using-graph-uri and using-named-graph-uri")
	}
	name := "query"
	op.params.DefaultGraphs, op.params.NamedGraphs = op.defaultGraphs, op.namedGraphs
	if update {
		name = "update"
		op.params.DefaultGraphs, op.params.NamedGraphs = op.usingGraphs, op.usingNamedGraphs
	}
	op.text = strings.TrimPrefix(op.given[name], "\uFEFF") // which editors put in front of files
	if len(op.text) > maxSPARQLBytes {
		return errorf(KindTooLarge, name, "the text has %d bytes, this endpoint takes up to %d", len(op.text), maxSPARQLBytes)
	}
	if !utf8.ValidString(op.text) {
		return errorf(KindBadRequest, name, "the text is not UTF-8")
	}
	switch explain := op.given["explain"]; explain {
	case "", "false":
	case "true":
		op.explain = explainPlan
	case "run":
		op.explain = explainRun
	default:
		return errorf(KindBadParameter, "explain", "%q is none of true (the plan), run (the plan after a run) and false", clip(explain))
	}
	return op.readTimeout()
}

// readTimeout reads a number of seconds, or a duration like 500ms.
func (op *operation) readTimeout() error {
	text, ok := op.given["timeout"]
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(text)
	if seconds, e := strconv.ParseFloat(text, 64); e == nil && seconds < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d <= 0 {
		return errorf(KindBadParameter, "timeout", "%q is not a number of seconds, or a duration like 500ms", clip(text))
	}
	op.params.Timeout = d
	return nil
}

// readOperation reads what a POST asks for, with its body, which account pays.
func (a *API) readOperation(r *request, account *account) (*operation, error) {
	contentType := r.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains([]string{typeForm, typeQuery, typeUpdate}, mediaType) {
		return nil, errorf(KindUnsupportedMedia, "Content-Type", "%q; this endpoint takes %s, %s and %s", clip(contentType), typeQuery, typeUpdate, typeForm)
	}
	switch charset := strings.ToLower(parameters["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
	default:
		return nil, errorf(KindUnsupportedMedia, "Content-Type", "charset %q is not supported; send UTF-8", clip(charset))
	}
	most := int64(maxSPARQLBytes)
	if mediaType == typeForm {
		most = maxFormBytes
	}
	op := &operation{}
	if err := op.addParams(r.URL.RawQuery, whereURL); err != nil {
		return nil, err
	}
	if mediaType != typeForm && (op.has("query") || op.has("update")) {
		return nil, errorf(KindBadRequest, "", "a query or update in the URL, and one in the body; give one")
	}
	endTurn, err := a.beginBody(r)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	text, err := readText(r, min(most, a.texts.max*2/3/textWeight), account)
	if err != nil {
		return nil, err
	}
	switch mediaType {
	case typeForm:
		return op, op.addParams(text, whereBody)
	case typeUpdate:
		return op, op.add("update", text)
	}
	return op, op.add("query", text)
}

// readText reads a body of at most most bytes as a text.
func readText(r *request, most int64, account *account) (string, error) {
	body, err := openBody(r, most)
	if err != nil {
		return "", asTextTooLarge(err, most)
	}
	defer body.Close()
	body.account, body.weight = account, textWeight
	var text strings.Builder
	if r.ContentLength > 0 && body.Compression() == input.Plain {
		text.Grow(int(min(r.ContentLength, 1<<20)))
	}
	if _, err := io.Copy(&text, body); err != nil {
		return "", asTextTooLarge(err, most)
	}
	return text.String(), nil
}

// asTextTooLarge words the error of a body that is too large for this door.
func asTextTooLarge(err error, most int64) error {
	var e *Error
	if errors.As(err, &e) && e.Kind == KindTooLarge && !errors.Is(err, input.ErrBomb) {
		return errorf(KindTooLarge, "", "the body has more than %d bytes, the most of a query or update; POST /load takes data of any size", most)
	}
	return err
}

// textError names the text in which an error is.
func textError(err error, source string) error {
	var bad *triple.SyntaxError
	if errors.As(err, &bad) && bad.Source == "" {
		named := *bad
		named.Source = source
		return &named
	}
	return err
}
