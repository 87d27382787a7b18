// A request to /sparql: its text, its dataset, and the form of its answer.

package sparql

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// Media types of bodies.
const (
	TypeForm   = "application/x-www-form-urlencoded"
	TypeQuery  = "application/sparql-query"
	TypeUpdate = "application/sparql-update"
)

const (
	// MaxSPARQLBytes is the greatest text of a query or update.
	MaxSPARQLBytes = parser.DefaultMaxBytes
	// maxFormBytes is the greatest form. Each byte of a text may be escaped in it.
	maxFormBytes = 3*MaxSPARQLBytes + 1<<20
	// maxGraphs is the most graphs in a request.
	maxGraphs = 10_000
	// maxBindings is the most values of variables in a request.
	maxBindings = 1000
	// maxFormats is the most names of formats in a request; more are ignored.
	maxFormats = 8
	// textWeight is the memory for each byte of a text until it is answered: the byte and its part
	// of the syntax tree.
	textWeight = 4
	// minTextsBytes is the least budget of texts.
	minTextsBytes = 4 << 20
)

// The place of parameters. The protocol requires all of them in one of the two.
const (
	whereURL  = "the URL"
	whereBody = "the form"
)

// operation is one request to /sparql.
type operation struct {
	given   map[string]string // parameters that must not be repeated
	text    string            // the query or update
	params  engine.Params
	formats []string // names of formats, by preference
	// content is a digest of the body of a QUERY, because its URL is not the whole query; else "".
	content string

	explain explainMode
	// Graphs of queries, and graphs of updates.
	defaultGraphs, namedGraphs, usingGraphs, usingNamedGraphs []string
}

type explainMode uint8

const (
	explainNo   explainMode = iota
	explainPlan             // the plan with estimates; nothing runs
	explainRun              // the plan after a run; its result is only counted
)

var (
	// onceParams are the parameters that must not be repeated.
	onceParams = []string{"query", "update", "explain", "timeout", "version"}
	// queryParams are the parameters of a query, updateParams the other ones of an update.
	queryParams  = []string{"query", "explain", "timeout", "format", "version", "default-graph-uri", "named-graph-uri"}
	updateParams = []string{"update", "using-graph-uri", "using-named-graph-uri"}
)

func (op *operation) has(name string) bool { _, ok := op.given[name]; return ok }

func (op *operation) isUpdate() bool { return op.has("update") }

// addParams reads a form, or the query of a URL.
//
// Unknown parameters are ignored, because clients send those of other stores along. If a name
// contains "graph", it is an error, because the answer would be of another dataset.
func (op *operation) addParams(raw, where string) error {
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return problem.Errorf(problem.KindBadRequest, "", "a parameter's name in %s: %v", where, err)
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return problem.Errorf(problem.KindBadParameter, problem.Clip(name), "in %s: %v", where, err)
		}
		if err := op.add(name, value); err != nil {
			return err
		}
	}
	return nil
}

// add adds a parameter. An empty one is absent if it is no text and no value of a variable, because
// forms send all their fields, as those of Virtuoso do.
func (op *operation) add(name, value string) error {
	name = strings.TrimSpace(name) // YASGUI sends "using-graph-uri "
	// 1. Find the list of a graph parameter. All other names are handled here.
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
	case "format": // may be repeated, because SPARQLWrapper sends a name and a media type
		if value != "" && len(op.formats) < maxFormats {
			op.formats = append(op.formats, value)
		}
		return nil
	default:
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			return op.bind(variable, value)
		}
		// A misspelt graph parameter would widen the data of the query, so it is an error.
		if strings.Contains(strings.ToLower(name), "graph") {
			return problem.Errorf(problem.KindBadParameter, problem.Clip(name),
				"unknown parameter; graphs are named by default-graph-uri and named-graph-uri, of updates by using-graph-uri and using-named-graph-uri")
		}
		// Other unknown names are ignored, because clients may send some for other servers.
		if !slices.Contains(onceParams, name) || value == "" && name != "query" && name != "update" {
			return nil
		}
		if op.has(name) {
			return problem.Errorf(problem.KindBadParameter, name, "given more than once")
		}
		if op.given == nil {
			op.given = map[string]string{}
		}
		op.given[name] = value
		return nil
	}
	// 2. Add the graph to its list.
	if value == "" {
		return nil
	}
	if len(*graphs) == maxGraphs {
		return problem.Errorf(problem.KindBadParameter, name, "given more than %d times", maxGraphs)
	}
	if err := triple.CheckIRI(value); err != nil {
		return problem.Errorf(problem.KindBadParameter, name, "not an absolute IRI: %v", err)
	}
	*graphs = append(*graphs, value)
	return nil
}

// bind gives a variable a value. The name of such a parameter is $ and the variable, as in the protocol of RDF4J.
func (op *operation) bind(variable, value string) error {
	name := problem.Clip("$" + variable)
	if _, ok := op.params.Bind[variable]; ok {
		return problem.Errorf(problem.KindBadParameter, name, "given more than once")
	}
	if len(op.params.Bind) == maxBindings {
		return problem.Errorf(problem.KindBadParameter, name, "the variables have more than %d values", maxBindings)
	}
	term, err := triple.ParseTerm(value)
	if err != nil {
		return problem.Errorf(problem.KindBadParameter, name, "it is no term as in N-Triples, such as <http://example.org/a> or \"a\"@en: %v", err)
	}
	if op.params.Bind == nil {
		op.params.Bind = map[string]triple.Term{}
	}
	op.params.Bind[variable] = term
	return nil
}

// check completes the operation from its parameters. It fails if they contradict each other.
func (op *operation) check() error {
	// 1. Exactly one of query and update must be given, with graphs of its own kind.
	query, update := op.has("query"), op.has("update")
	switch {
	case query && update:
		return problem.Errorf(problem.KindBadRequest, "", "both query and update; give one")
	case !query && !update:
		return problem.Errorf(problem.KindBadRequest, "query", "is missing; so is update")
	case query && len(op.usingGraphs)+len(op.usingNamedGraphs) > 0:
		return problem.Errorf(problem.KindBadRequest, "", "using-graph-uri and using-named-graph-uri go with an update; those of a query are default-graph-uri and named-graph-uri")
	case update && len(op.defaultGraphs)+len(op.namedGraphs) > 0:
		return problem.Errorf(problem.KindBadRequest, "", "default-graph-uri and named-graph-uri go with a query; those of an update are using-graph-uri and using-named-graph-uri")
	}
	// 2. Take the text. It must be UTF-8 and not too long.
	name := "query"
	op.params.DefaultGraphs, op.params.NamedGraphs = op.defaultGraphs, op.namedGraphs
	if update {
		name = "update"
		op.params.DefaultGraphs, op.params.NamedGraphs = op.usingGraphs, op.usingNamedGraphs
	}
	op.text = strings.TrimPrefix(op.given[name], "\uFEFF") // a byte order mark, because editors write one
	if len(op.text) > MaxSPARQLBytes {
		return problem.Errorf(problem.KindTooLarge, name, "the text has %d bytes, this endpoint takes up to %d", len(op.text), MaxSPARQLBytes)
	}
	if !utf8.ValidString(op.text) {
		return problem.Errorf(problem.KindBadRequest, name, "the text is not UTF-8")
	}
	// 3. Read the options.
	switch explain := op.given["explain"]; explain {
	case "", "false":
	case "true":
		op.explain = explainPlan
	case "run":
		op.explain = explainRun
	default:
		return problem.Errorf(problem.KindBadParameter, "explain", "%q is none of true (the plan), run (the plan after a run) and false", problem.Clip(explain))
	}
	// Each version of SPARQL is a part of the next, so the parser is the same for all.
	if err := response.CheckVersion(op.given["version"], problem.KindBadParameter, "version"); err != nil {
		return err
	}
	return op.readTimeout()
}

// readTimeout reads a number of seconds, or a duration like 500ms. Zero is the limit of the server.
func (op *operation) readTimeout() error {
	text, ok := op.given["timeout"]
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(text)
	if seconds, e := strconv.ParseFloat(text, 64); e == nil && seconds < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return problem.Errorf(problem.KindBadParameter, "timeout", "%q is not a number of seconds, or a duration like 500ms", problem.Clip(text))
	}
	op.params.Timeout = d
	return nil
}

// readOperation reads the operation of a POST or a QUERY from URL and body. The account pays for the body.
func (a *API) readOperation(r *request.Request, account *limits.Account) (*operation, error) {
	// 1. Check the type of the body.
	contentType := r.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if r.Method == endpoint.MethodQuery {
		// The content and its type are the query, so that one without a type is none (RFC 10008, section 2).
		if contentType == "" {
			return nil, problem.Errorf(problem.KindBadRequest, "Content-Type", "is missing; QUERY takes %s and %s", TypeQuery, TypeForm)
		}
		if mediaType == TypeUpdate {
			return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "an update is sent by POST: QUERY changes no data, and takes %s and %s", TypeQuery, TypeForm)
		}
	}
	if err != nil || !slices.Contains([]string{TypeForm, TypeQuery, TypeUpdate}, mediaType) {
		return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%q; this endpoint takes %s, %s and %s", problem.Clip(contentType), TypeQuery, TypeUpdate, TypeForm)
	}
	switch charset := strings.ToLower(parameters["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
	default:
		return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "charset %q is not supported; send UTF-8", problem.Clip(charset))
	}
	if err := response.CheckVersion(parameters["version"], problem.KindUnsupportedMedia, "Content-Type"); err != nil {
		return nil, err
	}
	// 2. Read the URL, and reject a second text before the body is read.
	most := int64(MaxSPARQLBytes)
	if mediaType == TypeForm {
		most = maxFormBytes
	}
	op := &operation{}
	if err := op.addParams(r.URL.RawQuery, whereURL); err != nil {
		return nil, err
	}
	if mediaType != TypeForm && (op.has("query") || op.has("update")) {
		return nil, problem.Errorf(problem.KindBadRequest, "", "a query or update in the URL, and one in the body; give one")
	}
	// 3. Read the body in a turn, because decompressing takes processor time.
	endTurn, err := a.Documents.Begin(r)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	text, err := readText(r, min(most, a.Texts.Max*2/3/textWeight), account)
	if err != nil {
		return nil, err
	}
	if r.Method == endpoint.MethodQuery {
		op.content = fmt.Sprintf("%s %016x", mediaType, xxhash.Sum64String(text))
	}
	switch mediaType {
	case TypeForm:
		return op, op.addParams(text, whereBody)
	case TypeUpdate:
		return op, op.add("update", text)
	}
	return op, op.add("query", text)
}

// readText reads a body of at most most bytes as a text.
func readText(r *request.Request, most int64, account *limits.Account) (string, error) {
	body, err := request.Open(r, most)
	if err != nil {
		return "", asTextTooLarge(err, most)
	}
	defer body.Close()
	body.Account, body.Weight = account, textWeight
	var text strings.Builder
	if r.ContentLength > 0 && body.Compression() == input.Plain {
		text.Grow(int(min(r.ContentLength, 1<<20)))
	}
	if _, err := io.Copy(&text, body); err != nil {
		return "", asTextTooLarge(err, most)
	}
	return text.String(), nil
}

// asTextTooLarge replaces the error if a body is too large, because the general one recommends
// /load only for documents.
func asTextTooLarge(err error, most int64) error {
	var e *problem.Error
	if errors.As(err, &e) && e.Kind == problem.KindTooLarge && !errors.Is(err, input.ErrBomb) {
		return problem.Errorf(problem.KindTooLarge, "", "the body has more than %d bytes, the most of a query or update; POST /load takes data of any size", most)
	}
	return err
}

// textError adds the name of the text to a syntax error.
func textError(err error, source string) error {
	var bad *triple.SyntaxError
	if errors.As(err, &bad) && bad.Source == "" {
		named := *bad
		named.Source = source
		return &named
	}
	return err
}
