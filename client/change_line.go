// A line of the change feed in JSON.

package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// wireChange is a line of the feed. docs/api/changes.md lists its members.
type wireChange struct {
	wireRead
	Kind       string
	S, P, O, G *wireTerm
	App        string
	Type       string
	Data       []byte
	Removed    bool
	Load       string
	New        *int64
	All        bool
	Default    bool
	Graphs     []wireTerm
	Epoch      uint64
	Sequence   uint64
	Sequencer  string
	Time       time.Time
	Position   string
	Error      json.RawMessage
}

// wireRead has the members of a line that only reads have.
type wireRead struct {
	Caller      string
	Other       bool
	Long        []string
	Reads, Rows int64
	First, Last time.Time
	Run         string
	Batch       uint64
}

// wireTerm is a term in the form of SPARQL 1.2 Query Results JSON.
type wireTerm struct{ triple.Term }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *wireTerm) UnmarshalJSON(text []byte) (err error) {
	t.Term, err = triple.ParseTermJSON(text)
	return err
}

// parseChange decodes a line. A line that holds an error becomes an [*Error].
func parseChange(line []byte) (Change, error) {
	if c, ok := parsePlain(line); ok {
		return c, nil
	}
	return parseJSON(line)
}

// parseJSON decodes a line by encoding/json.
func parseJSON(line []byte) (c Change, err error) {
	// 1. An answer that breaks off ends with an error.
	var w wireChange
	if err := decodeJSON(line, &w); err != nil {
		return c, &permanent{err}
	}
	if w.Error != nil {
		return c, parseError(line, http.StatusOK)
	}
	// 2. Take the terms, which were checked, because a proxy may have changed the bytes.
	c = Change{Kind: w.Kind, Application: w.App, MediaType: w.Type, Data: w.Data, Removed: w.Removed, Load: w.Load, New: -1, All: w.All, Default: w.Default,
		Epoch: w.Epoch, Sequence: w.Sequence, Sequencer: w.Sequencer, Time: w.Time, Position: w.Position, Line: line}
	if w.New != nil {
		c.New = *w.New
	}
	for _, at := range []struct {
		from *wireTerm
		to   *triple.Term
	}{{w.S, &c.Triple.Subject}, {w.P, &c.Triple.Predicate}, {w.O, &c.Triple.Object}, {w.G, &c.Triple.Graph}} {
		if at.from != nil {
			*at.to = at.from.Term
		}
	}
	for _, g := range w.Graphs {
		c.Graphs = append(c.Graphs, g.Term)
	}
	if c.Kind == "read" {
		c.takeRead(&w)
	}
	return c, nil
}

// takeRead moves what a line has of a read to its ReadCount.
func (c *Change) takeRead(w *wireChange) {
	t := c.Triple
	c.Read = &ReadCount{
		Pattern: triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: w.Default},
		Other:   w.Other, Long: w.Long, Caller: w.Caller, Application: w.App, Reads: w.Reads, Rows: w.Rows,
		First: w.First, Last: w.Last, Run: w.Run, Batch: w.Batch,
	}
	c.Triple, c.Application, c.Default = triple.Triple{}, "", false
}

// parsePlain decodes an add or a delete in exactly the form that nodes write: the members in their
// order, without spaces and escapes. ok is false for any other line. Most lines have the form, and
// encoding/json takes ten times as long for them (BenchmarkParseChange).
func parsePlain(line []byte) (c Change, ok bool) {
	if !utf8.Valid(line) {
		return c, false
	}
	for _, b := range line {
		if b < ' ' || b == '\\' {
			return c, false
		}
	}
	p := plainLine{rest: string(line)}
	c = Change{Kind: p.text(`{"kind":"`), New: -1, Line: line}
	if c.Kind != "add" && c.Kind != "delete" {
		return c, false
	}
	// 1. The triple.
	c.Triple.Subject = p.term(`,"s":`)
	c.Triple.Predicate = p.term(`,"p":`)
	c.Triple.Object = p.term(`,"o":`)
	if strings.HasPrefix(p.rest, `,"g":`) {
		c.Triple.Graph = p.term(`,"g":`)
	}
	// 2. What identifies it.
	c.Epoch = p.number(`,"epoch":`)
	c.Sequence = p.number(`,"sequence":`)
	if strings.HasPrefix(p.rest, `,"sequencer":"`) {
		c.Sequencer = p.text(`,"sequencer":"`)
	}
	if err := c.Time.UnmarshalText([]byte(p.text(`,"time":"`))); err != nil {
		return c, false
	}
	if strings.HasPrefix(p.rest, `,"position":"`) {
		c.Position = p.text(`,"position":"`)
	}
	return c, p.rest == "}" && !p.failed
}

// plainLine is the rest of a line that parsePlain decodes.
type plainLine struct {
	rest   string
	failed bool // the line has another form
}

// take cuts a prefix.
func (p *plainLine) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	p.failed = p.failed || !ok
	return ok
}

// text cuts a prefix, which ends with a quote, and a text with its closing quote.
func (p *plainLine) text(prefix string) string {
	if !p.take(prefix) {
		return ""
	}
	text, rest, ok := strings.Cut(p.rest, `"`)
	p.rest = rest
	p.failed = p.failed || !ok
	return text
}

// number cuts a prefix and a number.
func (p *plainLine) number(prefix string) uint64 {
	p.take(prefix)
	digits, _, _ := strings.Cut(p.rest, ",")
	n, err := strconv.ParseUint(digits, 10, 64)
	p.rest = p.rest[len(digits):]
	p.failed = p.failed || err != nil || len(digits) > 1 && digits[0] == '0'
	return n
}

// term cuts a prefix and a term. Triple terms and strings with a base direction have another form.
func (p *plainLine) term(prefix string) (t triple.Term) {
	p.take(prefix)
	kind, value := p.text(`{"type":"`), p.text(`,"value":"`)
	switch {
	case kind == "uri":
		t = triple.NewIRI(value)
	case kind == "bnode":
		t = triple.NewBlank(value)
	case kind == "literal" && strings.HasPrefix(p.rest, `,"xml:lang":"`):
		t = triple.NewLang(value, p.text(`,"xml:lang":"`))
	case kind == "literal" && strings.HasPrefix(p.rest, `,"datatype":"`):
		t = triple.NewTyped(value, p.text(`,"datatype":"`))
	case kind == "literal":
		t = triple.NewString(value)
	}
	p.take("}")
	p.failed = p.failed || t.Check() != nil || t.Direction() != ""
	return t
}
