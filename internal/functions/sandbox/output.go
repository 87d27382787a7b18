// The output of a call.

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// Result is what a function returned.
type Result struct {
	// Effects are in the order of the output.
	Effects []Effect
	// Rejected means that the change must not be made, because of Reason.
	Rejected bool
	Reason   string
}

// Effect is one change that a function requests.
type Effect struct {
	Kind   feed.Kind // Add, Delete or Annotate
	Triple triple.Triple
	// Annotation is set if Kind is Annotate.
	Annotation *feed.Annotation
}

const maxReason = 1000 // bytes of the reason of a rejection

// parseOutput parses the lines of an output. Its error is [ErrOutput] with line and column.
func parseOutput(output []byte, maxResults int) (Result, error) {
	var r Result
	for number := 1; len(output) > 0; number++ {
		var line []byte
		line, output, _ = bytes.Cut(output, []byte("\n"))
		if number > maxResults {
			return Result{}, fmt.Errorf("%w: more than %d lines", ErrOutput, maxResults)
		}
		p := &lineParser{dec: jsontext.NewDecoder(bytes.NewReader(line))}
		effect, reason, err := p.parse()
		if err != nil {
			return Result{}, fmt.Errorf("%w: line %d, column %d: %w", ErrOutput, number, p.dec.InputOffset()+1, err)
		}
		// A rejection says that nothing is done, so it must not stand beside effects.
		if reason != nil {
			r.Rejected, r.Reason = true, *reason
		} else {
			r.Effects = append(r.Effects, effect)
		}
		if r.Rejected && number > 1 {
			return Result{}, fmt.Errorf("%w: line %d: a rejection must be the only line", ErrOutput, number)
		}
	}
	return r, nil
}

// lineParser parses one line: an object whose members may come in any order.
type lineParser struct {
	dec  *jsontext.Decoder
	seen map[string]bool

	op, app, reason string
	data            []byte
	removed         bool
	triple          triple.Triple
}

// parse returns an effect, or the reason of a rejection.
func (p *lineParser) parse() (Effect, *string, error) {
	p.seen = map[string]bool{}
	if err := p.object(p.member); err != nil {
		return Effect{}, nil, err
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		return Effect{}, nil, errors.New("more than one JSON value on a line")
	}
	// 1. Each op has its members, and no others.
	var need, may []string
	switch p.op {
	case "add", "delete":
		need, may = []string{"op", "s", "p", "o"}, []string{"g"}
	case "annotate":
		need, may = []string{"op", "s", "p", "o", "app"}, []string{"g", "data", "removed"}
		if p.seen["data"] == p.removed {
			return Effect{}, nil, errors.New(`an annotation needs either "data" or "removed":true`)
		}
	case "reject":
		need = []string{"op", "reason"}
	default:
		return Effect{}, nil, fmt.Errorf(`"op" is %q, not add, delete, annotate or reject`, p.op)
	}
	for _, name := range need {
		if !p.seen[name] {
			return Effect{}, nil, fmt.Errorf("%s has no member %q", p.op, name)
		}
		delete(p.seen, name)
	}
	for _, name := range may {
		delete(p.seen, name)
	}
	for name := range p.seen {
		return Effect{}, nil, fmt.Errorf("%s has a member %q", p.op, name)
	}
	if p.op == "reject" {
		return Effect{}, &p.reason, nil
	}
	// 2. The triple must be one, and the annotation within its limits.
	if err := cmp.Or(p.triple.Check(), p.triple.Object.CheckLanguage()); err != nil {
		return Effect{}, nil, err
	}
	kind, err := feed.ParseKind(p.op)
	if err != nil {
		return Effect{}, nil, err
	}
	e := Effect{Kind: kind, Triple: p.triple}
	if kind == feed.Annotate {
		if len(p.app) == 0 || len(p.app) > triple.MaxApplicationID || len(p.data) > triple.MaxAnnotationBytes {
			return Effect{}, nil, fmt.Errorf("an application ID has 1 to %d bytes, and an annotation at most %d", triple.MaxApplicationID, triple.MaxAnnotationBytes)
		}
		e.Annotation = &feed.Annotation{ApplicationID: p.app, Removed: p.removed, Data: p.data}
	}
	return e, nil, nil
}

// object reads an object and calls member for each name. The decoder rejects names that come twice.
func (p *lineParser) object(member func(name string) error) error {
	t, err := p.dec.ReadToken()
	if err != nil {
		return syntax(err)
	}
	if t.Kind() != '{' {
		return errors.New("not a JSON object")
	}
	for {
		t, err := p.dec.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if t.Kind() == '}' {
			return nil
		}
		if err := member(t.String()); err != nil {
			return err
		}
	}
}

func (p *lineParser) member(name string) (err error) {
	p.seen[name] = true
	// A member is read as its name says. Which members an op must have is checked at the end.
	switch name {
	case "op":
		p.op, err = p.str()
	case "s":
		p.triple.Subject, err = p.term()
	case "p":
		p.triple.Predicate, err = p.term()
	case "o":
		p.triple.Object, err = p.term()
	case "g":
		p.triple.Graph, err = p.term()
	case "app":
		p.app, err = p.str()
	case "reason":
		if p.reason, err = p.str(); len(p.reason) > maxReason {
			return fmt.Errorf("a reason of %d bytes, at most %d", len(p.reason), maxReason)
		}
	case "data":
		var text string
		if text, err = p.str(); err == nil {
			p.data, err = base64.StdEncoding.AppendDecode([]byte{}, []byte(text))
		}
	case "removed":
		var t jsontext.Token
		if t, err = p.dec.ReadToken(); err == nil && t.Kind() != 't' {
			err = errors.New(`"removed" is not true`)
		}
	default:
		return fmt.Errorf("unknown member %q", name)
	}
	if name == "removed" {
		p.removed = true
	}
	return err
}

// str reads a string.
func (p *lineParser) str() (string, error) {
	t, err := p.dec.ReadToken()
	if err != nil {
		return "", syntax(err)
	}
	if t.Kind() != '"' {
		return "", errors.New("not a string")
	}
	return t.String(), nil
}

// term reads an RDF term of SPARQL 1.1 Query Results JSON.
func (p *lineParser) term() (triple.Term, error) {
	// 1. Read the members. All are strings.
	members := map[string]string{}
	err := p.object(func(name string) (err error) {
		switch name {
		case "type", "value", "datatype", "xml:lang":
			members[name], err = p.str()
			return err
		}
		return fmt.Errorf("unknown member %q of a term", name)
	})
	if err != nil {
		return triple.Term{}, err
	}
	// 2. Make the term. A language and a datatype exclude each other.
	_, hasValue := members["value"]
	lang, hasLang := members["xml:lang"]
	datatype, hasType := members["datatype"]
	switch {
	case !hasValue:
		return triple.Term{}, errors.New(`a term without "value"`)
	case members["type"] == "uri" && !hasLang && !hasType:
		return triple.NewIRI(members["value"]), nil
	case members["type"] == "bnode" && !hasLang && !hasType:
		return triple.NewBlank(members["value"]), nil
	case members["type"] != "literal":
		return triple.Term{}, fmt.Errorf(`the "type" of a term is %q, not uri, bnode or literal with a language or a datatype`, members["type"])
	case hasLang && hasType:
		return triple.Term{}, errors.New("a literal with a language and a datatype")
	case hasLang:
		return triple.NewLang(members["value"], lang), nil
	case hasType:
		return triple.NewTyped(members["value"], datatype), nil
	}
	return triple.NewString(members["value"]), nil
}

// syntax returns a short form of a syntax error, whose place is reported already.
func syntax(err error) error {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) && s.Err != nil {
		return s.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line ends within a JSON value, or is empty")
	}
	return err
}
