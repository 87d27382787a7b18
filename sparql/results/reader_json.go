// The reader of JSON.

package results

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// jsonDecoder reads SPARQL 1.2 Query Results JSON. It skips unknown members. JSON allows
// results before the head; if so, their rows are kept until the head was read.
type jsonDecoder struct {
	lex      *jsonLexer
	hasHead  bool
	hasRows  bool
	open     bool        // inside of the array of bindings
	early    []namedTerm // rows before the head; a row begins with a name ""
	earlyAt  int
	earlyLen int
}

type namedTerm struct {
	name string
	term triple.Term
}

func (d *jsonDecoder) begin(h *header) error {
	if err := d.lex.expect('{'); err != nil {
		return err
	}
	for !d.open {
		done, err := d.lex.listEnd('}')
		if err != nil {
			return err
		}
		if done {
			return d.atEnd(h)
		}
		if err := d.member(h); err != nil {
			return err
		}
	}
	return nil
}

// member reads a member of the document. If it is the results and the head came before, member
// stops at the first binding.
func (d *jsonDecoder) member(h *header) error {
	name, err := d.lex.str()
	if err != nil {
		return err
	}
	// A member may come once, and results exclude a boolean. Unknown ones are skipped, because
	// extensions may add them.
	switch name {
	case "head":
		if d.hasHead {
			return syntaxf("two heads")
		}
		d.hasHead = true
		return d.readHead(h)
	case "boolean":
		word, err := d.lex.word()
		if err != nil {
			return err
		}
		if word != "true" && word != "false" || h.boolean != nil || d.hasRows {
			return syntaxf("boolean is %s, or there twice, or beside results", word)
		}
		value := word == "true"
		h.boolean = &value
		return nil
	case "results":
		if d.hasRows || h.boolean != nil {
			return syntaxf("results are there twice, or beside a boolean")
		}
		d.hasRows = true
		return d.readResults()
	}
	return d.lex.skip()
}

func (d *jsonDecoder) readHead(h *header) error {
	return d.lex.object(func(name string) error {
		switch name {
		case "vars":
			h.vars = []string{}
			return d.lex.array(func() error {
				name, err := d.lex.str()
				if err != nil {
					return err
				}
				return h.addVar(name)
			})
		case "link":
			return d.lex.array(func() error {
				link, err := d.lex.str()
				if len(h.links) == maxVars {
					return fmt.Errorf("%w: more than %d links", ErrLimit, maxVars)
				}
				h.links = append(h.links, link)
				return err
			})
		}
		return d.lex.skip()
	})
}

// readResults reads the object of results: if the head is known, up to the
// bindings, else all of it.
func (d *jsonDecoder) readResults() error {
	if err := d.lex.expect('{'); err != nil {
		return err
	}
	for {
		done, err := d.lex.listEnd('}')
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		name, err := d.lex.str()
		if err != nil {
			return err
		}
		// If the head is not known yet, solutions must be kept until it is.
		switch {
		case name != "bindings":
			err = d.lex.skip()
		case d.hasHead:
			d.open = true
			return d.lex.expect('[')
		default:
			err = d.readEarly()
		}
		if err != nil {
			return err
		}
	}
}

// readEarly keeps the rows if results come before the head.
func (d *jsonDecoder) readEarly() error {
	return d.lex.array(func() error {
		d.early = append(d.early, namedTerm{})
		d.earlyLen += 100
		return d.lex.object(func(name string) error {
			t, err := d.term()
			if err != nil {
				return err
			}
			d.early = append(d.early, namedTerm{name, t})
			if d.earlyLen += 100 + len(name) + len(t.Value()) + len(t.Datatype()); d.earlyLen > maxRowBytes {
				return fmt.Errorf("%w: more than %d bytes of results before the head", ErrLimit, maxRowBytes)
			}
			return nil
		})
	})
}

func (d *jsonDecoder) next(h *header, row []triple.Term) (bool, error) {
	if !d.open {
		return d.nextEarly(h, row)
	}
	done, err := d.lex.listEnd(']')
	if err != nil {
		return false, err
	}
	if done {
		return false, d.finish(h)
	}
	return true, d.lex.object(func(name string) error {
		t, err := d.term()
		if err != nil {
			return err
		}
		return h.bind(row, name, t)
	})
}

func (d *jsonDecoder) nextEarly(h *header, row []triple.Term) (bool, error) {
	if d.earlyAt == len(d.early) {
		return false, nil
	}
	for d.earlyAt++; d.earlyAt < len(d.early) && d.early[d.earlyAt].name != ""; d.earlyAt++ {
		if err := h.bind(row, d.early[d.earlyAt].name, d.early[d.earlyAt].term); err != nil {
			return false, err
		}
	}
	return true, nil
}

// finish reads the rest of results and of the document after the bindings.
func (d *jsonDecoder) finish(h *header) error {
	for {
		done, err := d.lex.listEnd('}')
		if err != nil {
			return err
		}
		if done {
			break
		}
		if err := d.lex.skipMember("bindings"); err != nil {
			return err
		}
	}
	for {
		done, err := d.lex.listEnd('}')
		if err != nil {
			return err
		}
		if done {
			return d.atEnd(h)
		}
		if err := d.member(h); err != nil {
			return err
		}
	}
}

func (l *jsonLexer) skipMember(forbidden string) error {
	name, err := l.str()
	if err != nil {
		return err
	}
	if name == forbidden {
		return syntaxf("%q twice", name)
	}
	return l.skip()
}

// atEnd returns an error if the document is not whole.
func (d *jsonDecoder) atEnd(h *header) error {
	switch {
	case !d.hasHead:
		return syntaxf("no head")
	case h.boolean == nil && (!d.hasRows || h.vars == nil):
		return syntaxf("neither variables and results nor a boolean")
	}
	if c, err := d.lex.peek(); err == nil {
		return syntaxf("%q after the document's end", c)
	} else if !isEnd(err) {
		return err
	}
	return nil
}

// term reads the object of a term.
func (d *jsonDecoder) term() (triple.Term, error) {
	var l levels
	t, err := d.innermost(&l)
	if err != nil {
		return triple.Term{}, err
	}
	return l.wrap(t)
}

// innermost reads the object of a term. Of a triple term it returns the innermost object, and adds the
// levels.
func (d *jsonDecoder) innermost(l *levels) (triple.Term, error) {
	var members struct{ kind, value, datatype, lang, direction *string }
	var object triple.Term // of a triple term
	// 1. Collect the members first, because they may come in any order.
	err := d.lex.object(func(name string) error {
		var into **string
		switch name {
		case "type":
			into = &members.kind
		case "value":
			into = &members.value
		case "datatype":
			into = &members.datatype
		case "xml:lang":
			into = &members.lang
		case "its:dir":
			into = &members.direction
		default:
			return d.lex.skip()
		}
		if *into != nil || name == "value" && !object.IsZero() {
			return syntaxf("%q twice", name)
		}
		if c, err := d.lex.peek(); err == nil && c == '{' && name == "value" {
			object, err = d.readTriple(l)
			return err
		}
		s, err := d.lex.str()
		*into = &s
		return err
	})
	if err != nil {
		return triple.Term{}, err
	}
	// 2. Make the term of them.
	if members.kind == nil || members.value == nil && object.IsZero() {
		return triple.Term{}, syntaxf("a term without its type or value")
	}
	if isTriple := *members.kind == "triple"; isTriple || !object.IsZero() {
		if !isTriple || object.IsZero() {
			return triple.Term{}, syntaxf("a term of type %q: type triple and a value with subject, predicate and object belong together", *members.kind)
		}
		return object, nil
	}
	switch value := *members.value; *members.kind {
	case "uri":
		return checked(triple.NewIRI(value))
	case "bnode":
		return blank(value), nil
	case "literal", "typed-literal":
		return literal(value, members.datatype, members.lang, members.direction)
	}
	return triple.Term{}, syntaxf("a term of type %q", *members.kind)
}

// readTriple reads the value of a triple term, and returns its innermost object.
func (d *jsonDecoder) readTriple(l *levels) (object triple.Term, err error) {
	if err := l.enter(); err != nil {
		return object, err
	}
	var s, p triple.Term
	err = d.lex.object(func(name string) (err error) {
		into := &object
		switch name {
		case "subject":
			into = &s
		case "predicate":
			into = &p
		case "object":
		default:
			return d.lex.skip()
		}
		if !into.IsZero() {
			return syntaxf("%q twice", name)
		}
		// Only the object adds levels, because a triple term is no subject or predicate.
		if into == &object {
			*into, err = d.innermost(l)
		} else {
			*into, err = d.term()
		}
		return err
	})
	if err == nil && object.IsZero() {
		err = syntaxf("a triple term without an object")
	}
	if err != nil {
		return object, err
	}
	return object, l.add(s, p)
}

// literal returns a literal with an optional datatype or language, and an optional direction.
func literal(value string, datatype, lang, direction *string) (triple.Term, error) {
	switch {
	case lang != nil && *lang != "":
		tag := *lang
		if strings.Contains(tag, "--") {
			return triple.Term{}, syntaxf("the language tag %.40q has a base direction, which its:dir gives", tag)
		}
		if direction != nil {
			tag += "--" + *direction
		}
		t := triple.NewLang(value, tag)
		if datatype != nil && *datatype != t.Datatype() {
			return triple.Term{}, syntaxf("a literal with a language and the datatype %q", *datatype)
		}
		return checked(t)
	case direction != nil:
		return triple.Term{}, syntaxf("a literal with a direction and no language")
	case datatype != nil:
		if *datatype == "" {
			return triple.Term{}, syntaxf("an empty datatype")
		}
		return checked(triple.NewTyped(value, *datatype))
	}
	return checked(triple.NewString(value))
}
