// What is asked of the graph of links: one JSON object, or a binary message.

package httpapi

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

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// takes says what a door wants to know.
type takes struct {
	fields []string // of the JSON object
	binary bool     // the binary form is taken too
	mode   sample.Mode
}

// The doors' fields. A page is told by uids or by urls.
var (
	uidsTakes    = &takes{fields: []string{"urls"}, binary: true}
	urlsTakes    = &takes{fields: []string{"uids"}, binary: true}
	getTakes     = &takes{fields: []string{"uids", "urls", "direction", "labels", "as"}, binary: true}
	sampleTakes  = &takes{fields: []string{"uids", "urls", "direction", "n", "mode", "class", "seed", "as"}, binary: true}
	degreesTakes = &takes{fields: []string{"uids", "urls", "direction"}, binary: true}
	rankTakes    = &takes{fields: []string{"uids", "urls", "algorithm", "a", "b", "mode", "class", "seed", "top", "all", "as"},
		mode: sample.ModeConsistent}
)

// asked is what a request says. Of uids and urls one is there.
type asked struct {
	uids      []uid.UID
	urls      []string
	byURL     bool
	direction links.Direction
	labels    bool
	asURLs    bool
	asSaid    bool // as was there
	sample    sample.Spec
	algorithm links.Algorithm
	in, out   int
	top       int
	all       bool
}

// bodyWeight is how many times its size a request of pages may take in memory.
const bodyWeight = 4

// readAsked reads what is asked.
func (c *linksCall) readAsked(t *takes) (*asked, error) {
	contentType, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if c.r.Header.Get("Content-Type") == "" {
		contentType, err = typeJSON, nil
	}
	if err != nil || contentType != typeJSON && !(t.binary && contentType == wire.MediaType) {
		message := "a question about links is " + typeJSON
		if t.binary {
			message += " or " + wire.MediaType
		}
		return nil, errorf(KindUnsupportedMedia, "Content-Type", "%s", message)
	}
	text, err := c.readBody()
	if err != nil {
		return nil, err
	}
	if contentType == wire.MediaType {
		return decodeAsked(text, t)
	}
	return parseAsked(text, t)
}

// readBody reads a body whole.
func (c *linksCall) readBody() ([]byte, error) {
	in, err := openBody(c.r, c.options.MaxBodyBytes)
	if err == nil {
		defer in.Close()
		in.account, in.weight = &c.account, bodyWeight
		var text []byte
		if text, err = io.ReadAll(in); err == nil {
			return text, nil
		}
	}
	var e *Error
	if errors.As(err, &e) && e.Kind == KindTooLarge && !errors.Is(err, input.ErrBomb) {
		e.Message = fmt.Sprintf("the request is larger than %d bytes, decompressed; ask about fewer pages at a time", c.options.MaxBodyBytes)
	}
	return nil, err
}

// decodeAsked decodes the binary form.
func decodeAsked(text []byte, t *takes) (*asked, error) {
	m, err := wire.DecodeRequest(text, maxLinkPages)
	switch {
	case errors.Is(err, wire.ErrTooMany):
		return nil, tooManyPages()
	case err != nil:
		return nil, errorf(KindBadRequest, bodyName, "%v", err)
	}
	a := &asked{uids: m.UIDs, urls: m.URLs, byURL: len(m.URLs) > 0, direction: m.Direction, labels: m.Labels, sample: m.Sample}
	// Nothing is a list of both.
	a.byURL = a.byURL || !slices.Contains(t.fields, "uids") && len(m.UIDs) == 0
	name := "uids"
	if a.byURL {
		name = "urls"
	}
	if !slices.Contains(t.fields, name) {
		return nil, errorf(KindBadRequest, bodyName, "the request names pages by %s; this endpoint takes %s", name, strings.Join(t.fields, ", "))
	}
	return a, a.check()
}

func tooManyPages() error {
	return errorf(KindTooLarge, "", "more than %d pages; ask about fewer at a time", maxLinkPages)
}

// parseAsked parses the JSON form.
func parseAsked(text []byte, t *takes) (*asked, error) {
	if !utf8.Valid(text) {
		return nil, errorf(KindBadRequest, bodyName, "is not UTF-8")
	}
	p := &askedParser{in: json.NewDecoder(bytes.NewReader(text)), asked: &asked{algorithm: links.SALSA}}
	p.asked.sample.Mode = t.mode
	if err := p.object(t.fields); err != nil {
		return nil, err
	}
	if pages := slices.Contains(t.fields, "uids"); pages && slices.Contains(t.fields, "urls") {
		if slices.Contains(p.seen, "uids") == slices.Contains(p.seen, "urls") {
			return nil, errorf(KindBadRequest, bodyName, "say which pages: uids or urls, one of them")
		}
	} else if !slices.Contains(p.seen, t.fields[0]) {
		return nil, errorf(KindBadParameter, t.fields[0], "is missing")
	}
	p.asked.byURL = slices.Contains(p.seen, "urls")
	return p.asked, p.asked.check()
}

// check refuses what makes no sense together.
func (a *asked) check() error {
	if a.labels && a.direction == links.Backward {
		return errorf(KindBadParameter, "labels", "are those of forward links")
	}
	return nil
}

// askedParser reads a JSON object, field by field.
type askedParser struct {
	in    *json.Decoder
	asked *asked
	seen  []string
}

// syntax returns why the text is not what it should be.
func (p *askedParser) syntax(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return errorf(KindBadRequest, bodyName, "byte %d: %v", p.in.InputOffset(), err)
}

func (p *askedParser) object(fields []string) error {
	if token, err := p.in.Token(); err != nil {
		return p.syntax(err)
	} else if token != json.Delim('{') {
		return errorf(KindBadRequest, bodyName, "is no JSON object; it takes %s", strings.Join(fields, ", "))
	}
	for p.in.More() {
		token, err := p.in.Token()
		if err != nil {
			return p.syntax(err)
		}
		name, _ := token.(string) // as keys are
		switch {
		case !slices.Contains(fields, name):
			return errorf(KindBadParameter, clip(name), "unknown field; this endpoint takes %s", strings.Join(fields, ", "))
		case slices.Contains(p.seen, name):
			return errorf(KindBadParameter, name, "given twice; give it once")
		}
		p.seen = append(p.seen, name)
		if err := p.field(name); err != nil {
			return err
		}
	}
	if _, err := p.in.Token(); err != nil {
		return p.syntax(err)
	}
	if _, err := p.in.Token(); err != io.EOF {
		return errorf(KindBadRequest, bodyName, "byte %d: something follows the object", p.in.InputOffset())
	}
	return nil
}

func (p *askedParser) field(name string) (err error) {
	a := p.asked
	switch name {
	case "uids":
		return p.uids()
	case "urls":
		return p.array(name, func(text string, isNull bool) error {
			if isNull {
				return errorf(KindBadParameter, name, "item %d is null; URLs are strings", len(a.urls))
			}
			a.urls = append(a.urls, text)
			return nil
		})
	case "direction":
		return p.choice(name, func(text string) error { a.direction, err = parseDirection(text); return err })
	case "as":
		a.asSaid = true
		return p.choice(name, func(text string) error {
			if a.asURLs = text == "urls"; !a.asURLs && text != "uids" {
				return fmt.Errorf("%q is neither uids nor urls", clip(text))
			}
			return nil
		})
	case "mode":
		return p.choice(name, func(text string) error { a.sample.Mode, err = sample.ParseMode(clip(text)); return err })
	case "class":
		return p.choice(name, func(text string) error { a.sample.Class, err = sample.ParseClass(clip(text)); return err })
	case "algorithm":
		return p.choice(name, func(text string) error { a.algorithm, err = parseAlgorithm(text); return err })
	case "labels":
		return p.value(name, &a.labels, "true or false")
	case "all":
		return p.value(name, &a.all, "true or false")
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
	return links.Forward, fmt.Errorf("%q is neither forward nor backward", clip(text))
}

func parseAlgorithm(text string) (links.Algorithm, error) {
	switch a := links.Algorithm(text); a {
	case links.SALSA, links.HITS, links.PageRank:
		return a, nil
	}
	return "", fmt.Errorf("%q is none of %s, %s and %s", clip(text), links.SALSA, links.HITS, links.PageRank)
}

// uids takes null for 0, as the answer of /links/uids has it.
func (p *askedParser) uids() error {
	a := p.asked
	return p.array("uids", func(text string, isNull bool) error {
		u := uid.UID(0)
		if !isNull && text != "0" {
			var err error
			if u, err = uid.Parse(text); err != nil {
				return errorf(KindBadParameter, "uids", "item %d: %v", len(a.uids), err)
			}
		}
		a.uids = append(a.uids, u)
		return nil
	})
}

// array reads an array of strings and nulls.
func (p *askedParser) array(name string, add func(text string, isNull bool) error) error {
	token, err := p.in.Token()
	if err != nil {
		return p.syntax(err)
	}
	if token != json.Delim('[') {
		return errorf(KindBadParameter, name, "is no array of strings")
	}
	for n := 0; p.in.More(); n++ {
		if n == maxLinkPages {
			return tooManyPages()
		}
		token, err := p.in.Token()
		if err != nil {
			return p.syntax(err)
		}
		text, isText := token.(string)
		if !isText && token != nil {
			return errorf(KindBadParameter, name, "item %d is no string", n)
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

// value reads any JSON into something.
func (p *askedParser) value(name string, into any, what string) error {
	var raw json.RawMessage
	if err := p.in.Decode(&raw); err != nil {
		return p.syntax(err)
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return errorf(KindBadParameter, name, "is not %s", what)
	}
	return nil
}

// maxCount is more than any list has links.
const maxCount = 1<<31 - 1

func (p *askedParser) count(name string, into *int) error {
	if err := p.value(name, into, "a number from 0 on"); err != nil {
		return err
	}
	if *into < 0 || *into > maxCount {
		return errorf(KindBadParameter, name, "is not a number from 0 to %d", maxCount)
	}
	return nil
}

func (p *askedParser) choice(name string, choose func(string) error) error {
	var text string
	if err := p.value(name, &text, "a string"); err != nil {
		return err
	}
	if err := choose(text); err != nil {
		return errorf(KindBadParameter, name, "%v", err)
	}
	return nil
}

// pages returns the UIDs of the pages that are asked about, 0 for those that are not
// known.
func (c *linksCall) pages() ([]uid.UID, error) {
	if !c.asked.byURL {
		return c.asked.uids, nil
	}
	pages, err := c.graph.UIDs(c.ctx, c.asked.urls)
	if err != nil {
		return nil, err
	}
	return pages, answered("UIDs", len(pages), len(c.asked.urls))
}
