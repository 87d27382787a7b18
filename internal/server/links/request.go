// Requests to the graph of links: one JSON object, or a binary message.

package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// takes describes the request of an endpoint.
type takes struct {
	fields []string // of the JSON object
	binary bool     // the binary form is accepted too
	mode   sample.Mode
}

// The fields of each endpoint. Pages are named by uids or by urls.
var (
	uidsTakes    = &takes{fields: []string{"urls"}, binary: true}
	urlsTakes    = &takes{fields: []string{"uids"}, binary: true}
	getTakes     = &takes{fields: []string{"uids", "urls", "direction", "labels", "as"}, binary: true}
	sampleTakes  = &takes{fields: []string{"uids", "urls", "direction", "n", "mode", "class", "seed", "as"}, binary: true}
	labelsTakes  = &takes{fields: []string{"uids", "urls"}}
	degreesTakes = &takes{fields: []string{"uids", "urls", "direction"}, binary: true}
	rankTakes    = &takes{fields: []string{"uids", "urls", "algorithm", "a", "b", "mode", "class", "seed", "weighted", "top", "all", "as"},
		mode: sample.ModeConsistent}
)

// parsedQuery is a parsed request. Exactly one of uids and urls is used.
type parsedQuery struct {
	uids      []uid.UID
	urls      []string
	byURL     bool
	direction links.Direction
	labels    bool
	asURLs    bool
	asSaid    bool // the field as was given
	sample    sample.Spec
	algorithm links.Algorithm
	in, out   int
	weighted  bool
	top       int
	all       bool
}

// bodyWeight is the memory of a request of pages, in multiples of its size.
const bodyWeight = 4

// readQuery reads the request of a call, in the form named by Content-Type. If that is missing, it
// must be JSON.
func (c *linksCall) readQuery(t *takes) (*parsedQuery, error) {
	contentType, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if c.r.Header.Get("Content-Type") == "" {
		contentType, err = response.JSON, nil
	}
	if err != nil || contentType != response.JSON && !(t.binary && contentType == wire.MediaType) {
		message := "a question about links is " + response.JSON
		if t.binary {
			message += " or " + wire.MediaType
		}
		return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%s", message)
	}
	text, err := c.readBody()
	if err != nil {
		return nil, err
	}
	if contentType == wire.MediaType {
		return decodeQuery(text, t)
	}
	return parseQuery(text, t)
}

// readBody reads a body whole. The account pays for it.
func (c *linksCall) readBody() ([]byte, error) {
	in, err := request.Open(c.r, c.Documents.MaxBytes)
	if err == nil {
		defer in.Close()
		in.Account, in.Weight = c.account, bodyWeight
		var text []byte
		if text, err = io.ReadAll(in); err == nil {
			return text, nil
		}
	}
	var e *problem.Error
	if errors.As(err, &e) && e.Kind == problem.KindTooLarge && !errors.Is(err, input.ErrBomb) {
		e.Message = fmt.Sprintf("the request is larger than %d bytes, decompressed; ask about fewer pages at a time", c.Documents.MaxBytes)
	}
	return nil, err
}

// decodeQuery decodes the binary form.
func decodeQuery(text []byte, t *takes) (*parsedQuery, error) {
	m, err := wire.DecodeRequest(text, MaxPages)
	switch {
	case errors.Is(err, wire.ErrTooMany):
		return nil, tooManyPages()
	case err != nil:
		return nil, problem.Errorf(problem.KindBadRequest, request.BodyName, "%v", err)
	}
	a := &parsedQuery{uids: m.UIDs, urls: m.URLs, byURL: len(m.URLs) > 0, direction: m.Direction, labels: m.Labels, sample: m.Sample}
	// An empty message may be a list of UIDs or of URLs. If the endpoint takes URLs only, it is one
	// of URLs.
	a.byURL = a.byURL || !slices.Contains(t.fields, "uids") && len(m.UIDs) == 0
	name := "uids"
	if a.byURL {
		name = "urls"
	}
	if !slices.Contains(t.fields, name) {
		return nil, problem.Errorf(problem.KindBadRequest, request.BodyName, "the request names pages by %s; this endpoint takes %s", name, strings.Join(t.fields, ", "))
	}
	return a, nil
}

func tooManyPages() error {
	return problem.Errorf(problem.KindTooLarge, "", "more than %d pages; ask about fewer at a time", MaxPages)
}

// parseQuery parses the JSON form.
func parseQuery(text []byte, t *takes) (*parsedQuery, error) {
	if !utf8.Valid(text) {
		return nil, problem.Errorf(problem.KindBadRequest, request.BodyName, "is not UTF-8")
	}
	p := &queryParser{in: json.NewDecoder(bytes.NewReader(text)), parsedQuery: &parsedQuery{algorithm: links.SALSA}}
	p.parsedQuery.sample.Mode = t.mode
	if err := p.object(t.fields); err != nil {
		return nil, err
	}
	if pages := slices.Contains(t.fields, "uids"); pages && slices.Contains(t.fields, "urls") {
		if slices.Contains(p.seen, "uids") == slices.Contains(p.seen, "urls") {
			return nil, problem.Errorf(problem.KindBadRequest, request.BodyName, "say which pages: uids or urls, one of them")
		}
	} else if !slices.Contains(p.seen, t.fields[0]) {
		return nil, problem.Errorf(problem.KindBadParameter, t.fields[0], "is missing")
	}
	p.parsedQuery.byURL = slices.Contains(p.seen, "urls")
	return p.parsedQuery, nil
}

// queryParser reads a JSON object, field by field.
type queryParser struct {
	in          *json.Decoder
	parsedQuery *parsedQuery
	seen        []string
}

// syntax returns the error of malformed JSON, with its place.
func (p *queryParser) syntax(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return problem.Errorf(problem.KindBadRequest, request.BodyName, "byte %d: %v", p.in.InputOffset(), err)
}

func (p *queryParser) object(fields []string) error {
	// 1. Read the fields. Each must be known and given once.
	if token, err := p.in.Token(); err != nil {
		return p.syntax(err)
	} else if token != json.Delim('{') {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, "is no JSON object; it takes %s", strings.Join(fields, ", "))
	}
	for p.in.More() {
		token, err := p.in.Token()
		if err != nil {
			return p.syntax(err)
		}
		name, _ := token.(string) // because keys are strings
		switch {
		case !slices.Contains(fields, name):
			return problem.Errorf(problem.KindBadParameter, problem.Clip(name), "unknown field; this endpoint takes %s", strings.Join(fields, ", "))
		case slices.Contains(p.seen, name):
			return problem.Errorf(problem.KindBadParameter, name, "given twice; give it once")
		}
		p.seen = append(p.seen, name)
		if err := p.field(name); err != nil {
			return err
		}
	}
	// 2. Nothing may follow the object.
	if _, err := p.in.Token(); err != nil {
		return p.syntax(err)
	}
	if _, err := p.in.Token(); err != io.EOF {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, "byte %d: something follows the object", p.in.InputOffset())
	}
	return nil
}

func (p *queryParser) field(name string) (err error) {
	// Errors name the field, because clients build requests by program.
	a := p.parsedQuery
	switch name {
	case "uids":
		return p.uids()
	case "urls":
		return p.array(name, func(text string, isNull bool) error {
			if isNull {
				return problem.Errorf(problem.KindBadParameter, name, "item %d is null; URLs are strings", len(a.urls))
			}
			a.urls = append(a.urls, text)
			return nil
		})
	case "direction":
		return p.choice(name, func(text string) error { a.direction, err = parseDirection(text); return err })
	case "as":
		// A ranking answers with URLs unless the field is given, so its presence is kept.
		a.asSaid = true
		return p.choice(name, func(text string) error {
			if a.asURLs = text == "urls"; !a.asURLs && text != "uids" {
				return fmt.Errorf("%q is neither uids nor urls", problem.Clip(text))
			}
			return nil
		})
	case "mode":
		return p.choice(name, func(text string) error { a.sample.Mode, err = sample.ParseMode(problem.Clip(text)); return err })
	case "class":
		return p.choice(name, func(text string) error { a.sample.Class, err = sample.ParseClass(problem.Clip(text)); return err })
	case "algorithm":
		return p.choice(name, func(text string) error { a.algorithm, err = parseAlgorithm(text); return err })
	case "labels":
		return p.value(name, &a.labels, "true or false")
	case "all":
		return p.value(name, &a.all, "true or false")
	case "weighted":
		return p.value(name, &a.weighted, "true or false")
	case "seed":
		return p.value(name, &a.sample.Seed, "a number from 0 to 2^64-1")
	case "n":
		return p.count(name, &a.sample.N)
	case "a":
		return p.count(name, &a.in)
	case "b":
		return p.count(name, &a.out)
	default: // top
		return p.count(name, &a.top)
	}
}

func parseDirection(text string) (links.Direction, error) {
	switch text {
	case "forward":
		return links.Forward, nil
	case "backward":
		return links.Backward, nil
	}
	return links.Forward, fmt.Errorf("%q is neither forward nor backward", problem.Clip(text))
}

func parseAlgorithm(text string) (links.Algorithm, error) {
	switch a := links.Algorithm(text); a {
	case links.SALSA, links.HITS, links.PageRank:
		return a, nil
	}
	return "", fmt.Errorf("%q is none of %s, %s and %s", problem.Clip(text), links.SALSA, links.HITS, links.PageRank)
}

// uids accepts null for 0, because the answer of /links/uids contains it.
func (p *queryParser) uids() error {
	a := p.parsedQuery
	return p.array("uids", func(text string, isNull bool) error {
		u := uid.UID(0)
		if !isNull && text != "0" {
			var err error
			if u, err = uid.Parse(text); err != nil {
				return problem.Errorf(problem.KindBadParameter, "uids", "item %d: %v", len(a.uids), err)
			}
		}
		a.uids = append(a.uids, u)
		return nil
	})
}

// array reads an array of strings and nulls, of at most MaxPages items.
func (p *queryParser) array(name string, add func(text string, isNull bool) error) error {
	token, err := p.in.Token()
	if err != nil {
		return p.syntax(err)
	}
	// Null is no array either: a client must leave the field out.
	if token != json.Delim('[') {
		return problem.Errorf(problem.KindBadParameter, name, "is no array of strings")
	}
	for n := 0; p.in.More(); n++ {
		// The number of items is bounded while they are read, because the body may be large.
		if n == MaxPages {
			return tooManyPages()
		}
		token, err := p.in.Token()
		if err != nil {
			return p.syntax(err)
		}
		text, isText := token.(string)
		// Null is passed on, because only add decides if it is allowed.
		if !isText && token != nil {
			return problem.Errorf(problem.KindBadParameter, name, "item %d is no string", n)
		}
		if err := add(text, token == nil); err != nil {
			return err
		}
	}
	if _, err := p.in.Token(); err != nil {
		return p.syntax(err)
	}
	return nil
}

// value reads any JSON into a variable. null is an error.
func (p *queryParser) value(name string, into any, what string) error {
	var raw json.RawMessage
	if err := p.in.Decode(&raw); err != nil {
		return p.syntax(err)
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return problem.Errorf(problem.KindBadParameter, name, "is not %s", what)
	}
	return nil
}

// maxCount is above the length of any list.
const maxCount = 1<<31 - 1

func (p *queryParser) count(name string, into *int) error {
	if err := p.value(name, into, "a number from 0 on"); err != nil {
		return err
	}
	if *into < 0 || *into > maxCount {
		return problem.Errorf(problem.KindBadParameter, name, "is not a number from 0 to %d", maxCount)
	}
	return nil
}

func (p *queryParser) choice(name string, choose func(string) error) error {
	var text string
	if err := p.value(name, &text, "a string"); err != nil {
		return err
	}
	if err := choose(text); err != nil {
		return problem.Errorf(problem.KindBadParameter, name, "%v", err)
	}
	return nil
}

// pages returns the UIDs of the pages of the request; 0 if a page is unknown.
func (c *linksCall) pages() ([]uid.UID, error) {
	if !c.query.byURL {
		return c.query.uids, nil
	}
	pages, err := c.graph.UIDs(c.ctx, c.query.urls)
	if err != nil {
		return nil, err
	}
	return pages, answered("UIDs", len(pages), len(c.query.urls))
}
