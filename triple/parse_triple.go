// Triple terms in the text of users.

package triple

import (
	"bytes"
	"fmt"
	"strings"
)

// cutTripleTerm parses the triple term at the start of text and returns the rest. Its terms are those
// of [Text.Term].
func (x Text) cutTripleTerm(text string) (Term, string, error) {
	// 1. Down to the innermost object, without recursion.
	x.inTriple = true
	var b TripleTermBuilder
	var object Term
	depth := 0
	for object.IsZero() {
		var s, p Term
		var err error
		if text, err = cutOpening(text); err != nil {
			return Term{}, "", err
		}
		if depth++; depth > MaxNesting() {
			return Term{}, "", CheckNesting(depth)
		}
		if s, text, err = x.cutInner(text, Subject); err != nil {
			return Term{}, "", err
		}
		if p, text, err = x.cutInner(text, Predicate); err != nil {
			return Term{}, "", err
		}
		b.Add(s, p)
		if text = trimSpace(text); !strings.HasPrefix(text, "<<") {
			if object, text, err = x.cutInner(text, Object); err != nil {
				return Term{}, "", err
			}
		}
	}
	// 2. Its ends.
	for range depth {
		if text = trimSpace(text); !strings.HasPrefix(text, ")>>") {
			return Term{}, "", fmt.Errorf("%w: expected )>> at the end of a triple term, found %q", ErrBadTerm, clip(text))
		}
		text = text[len(")>>"):]
	}
	t := b.Term(object)
	return t, text, t.Check()
}

// cutOpening cuts the opening of a triple term.
func cutOpening(text string) (string, error) {
	rest, ok := strings.CutPrefix(text, "<<(")
	if !ok {
		return "", fmt.Errorf("%w: %s", ErrBadTerm, quotedTriple)
	}
	return trimSpace(rest), nil
}

// cutInner parses the term of a triple term at a position.
func (x Text) cutInner(text string, position int) (Term, string, error) {
	text = trimSpace(text)
	if position == Predicate && strings.HasPrefix(text, "a ") {
		return NewIRI(RDFType), text[1:], nil
	}
	if err := checkInner(text, position); err != nil {
		return Term{}, "", err
	}
	return x.cutTerm(text)
}

// checkInner returns an error if no term of a position of a triple begins as text.
func checkInner(text string, position int) error {
	if text == "" {
		return nil
	}
	what := misplaced([]byte(text[:min(len(text), 2)]), position)
	if c := text[0]; what == "" && position != Object && (c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9') {
		what = "a number cannot be a " + positionNames[position]
	}
	if what != "" {
		return fmt.Errorf("%w: %s", ErrBadTerm, what)
	}
	return nil
}

// startsTriple parses the beginning of a triple term. A subject or a predicate is whole if another
// term follows it or its IRI is closed; an object is never whole.
func (x Text) startsTriple(text string) (Starts, error) {
	x.inTriple = true
	var b TripleTermBuilder
	for depth := 1; ; depth++ {
		var err error
		if text, err = cutOpening(text); err != nil {
			return Starts{}, fmt.Errorf("starts: %w", err)
		}
		if err := CheckNesting(depth); err != nil {
			return Starts{}, fmt.Errorf("starts: %w", err)
		}
		// 1. The subject and the predicate, as long as they are whole.
		var terms [2]Term
		for position := range terms {
			if err := checkInner(text, position); err != nil {
				return Starts{}, fmt.Errorf("starts: %w", err)
			}
			t, rest, err := x.cutInner(text, position)
			if err != nil || rest == "" && !strings.HasSuffix(text, ">") {
				b.open()
				return x.startsInner(b, terms[:position], text)
			}
			terms[position], text = t, trimSpace(rest)
		}
		b.Add(terms[Subject], terms[Predicate])
		if strings.HasPrefix(text, "<<") {
			continue
		}
		// 2. The object. It is whole if only ends of levels follow, not more than there are levels.
		t, rest, err := x.cutInner(text, Object)
		if err != nil {
			return x.startsInner(b, nil, text)
		}
		ends := 0
		for rest = trimSpace(rest); ends < depth && strings.HasPrefix(rest, ")>>"); ends++ {
			rest = trimSpace(rest[len(")>>"):])
		}
		switch {
		case rest == "":
			return Starts{Kind: TripleTerm, Text: string(AppendWholeTerm(b.body, t))}, nil
		case ends > 0:
			return Starts{}, fmt.Errorf("%w: starts: expected the end of the text or )>> of one of %d triple terms, found %q", ErrBadTerm, depth, clip(rest))
		}
		return x.startsInner(b, nil, text)
	}
}

// startsInner returns the starts of the triple terms with the levels of b, the whole terms of the
// next level, and a term that begins with text.
func (x Text) startsInner(b TripleTermBuilder, whole []Term, text string) (Starts, error) {
	for _, t := range whole {
		b.body = append(AppendWholeTerm(b.body, t), 0, markFieldEnd)
	}
	if text != "" {
		inner, err := x.Starts(text)
		if err != nil {
			return Starts{}, err
		}
		if inner.Lang != "" {
			return Starts{}, fmt.Errorf("%w: starts: in a triple term a string that is cut has no language tag: %q", ErrBadTerm, clip(text))
		}
		b.body = append(b.body, inner.tag())
		b.body = appendEscaped(b.body, inner.Text)
	}
	return Starts{Kind: TripleTerm, Text: string(b.body)}, nil
}

// String returns the text that [ParseStarts] parses to s; "" if s has no kind or its text is not one
// of ParseStarts.
func (s Starts) String() string {
	switch {
	case s.Kind == IRI:
		return "<" + s.Text
	case s.Kind == Blank:
		return "_:" + s.Text
	case s.Kind == Literal && s.Lang != "":
		return NewLang(s.Text, s.Lang).String()
	case s.Kind == Literal:
		return strings.TrimSuffix(NewString(s.Text).String(), `"`)
	case s.Kind == TripleTerm:
		return startsTripleText([]byte(s.Text))
	}
	return ""
}

// startsTripleText is String for the beginning of the body of a triple term.
func startsTripleText(body []byte) string {
	text := []byte("<<(")
	for position := Subject; ; position++ {
		text = append(text, ' ') // it also ends a whole term
		if len(body) == 0 {
			return string(text)
		}
		// 1. An object may be a level itself.
		if position == Object && body[0] == tagTriple {
			text, body, position = append(text, "<<("...), body[1:], Subject-1
			continue
		}
		// 2. A subject or a predicate that is followed by a mark is whole.
		inner, rest, whole := bytes.Cut(body, []byte{0, markFieldEnd})
		if position != Object && whole {
			t, err := decodeView(inner)
			if err != nil {
				return ""
			}
			text, body = AppendNT(text, t), rest
			continue
		}
		// 3. The last one may be cut anywhere.
		return string(append(text, startsInnerText(body)...))
	}
}

// startsInnerText returns the beginning of a term inside a triple term.
func startsInnerText(b []byte) string {
	kinds := map[byte]Kind{tagBlank: Blank, tagIRI: IRI, tagString: Literal}
	if kind, ok := kinds[b[0]]; ok {
		text, _, err := unescapeField(b[1:])
		if err != nil {
			return ""
		}
		return Starts{Kind: kind, Text: text}.String()
	}
	t, err := decodeView(b)
	if err != nil {
		return ""
	}
	return t.String()
}

func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }
