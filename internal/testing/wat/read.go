// The reader: s-expressions of the text format.

package wat

import (
	"fmt"
	"strconv"
	"strings"
)

// node is an atom, a string or a list.
type node struct {
	atom string
	text *string // of a string
	list list
}

type list []node

func (n node) head() string {
	if len(n.list) == 0 {
		return ""
	}
	return n.list[0].atom
}

func (n node) isName() bool { return strings.HasPrefix(n.atom, "$") }

func (n node) str() string {
	if n.text == nil {
		fail("%v is no string", n)
	}
	return *n.text
}

func (n node) int() int64 {
	v, err := strconv.ParseInt(strings.ReplaceAll(n.atom, "_", ""), 0, 64)
	if err != nil {
		// Constants over the largest signed number are written unsigned.
		u, err := strconv.ParseUint(strings.ReplaceAll(n.atom, "_", ""), 0, 64)
		if err != nil {
			fail("%v is no number", n)
		}
		v = int64(u)
	}
	return v
}

// String returns the node as text for messages.
func (n node) String() string {
	switch {
	case n.text != nil:
		return strconv.Quote(*n.text)
	case n.atom != "":
		return n.atom
	}
	return fmt.Sprint([]node(n.list))
}

// read returns the expressions of a text.
func read(text string) list {
	r := &reader{text: text}
	l := r.list()
	if r.at < len(r.text) {
		fail("a ) without ( at byte %d", r.at)
	}
	return l
}

type reader struct {
	text string
	at   int
}

// list reads up to a closing parenthesis or the end.
func (r *reader) list() list {
	var l list
	for {
		// A list, a string, or an atom.
		r.space()
		switch {
		case r.at == len(r.text) || r.text[r.at] == ')':
			return l
		case r.text[r.at] == '(':
			r.at++
			n := node{list: r.list()}
			if r.at == len(r.text) {
				fail("a ( without )")
			}
			r.at++
			l = append(l, n)
		case r.text[r.at] == '"':
			s := r.str()
			l = append(l, node{text: &s})
		default:
			end := strings.IndexAny(r.text[r.at:], " \t\r\n();\"")
			if end < 0 {
				end = len(r.text) - r.at
			}
			if end == 0 {
				fail("unexpected %q at byte %d", r.text[r.at], r.at)
			}
			l = append(l, node{atom: r.text[r.at : r.at+end]})
			r.at += end
		}
	}
}

// space skips white space and comments: ;; to the end of the line, and (; ... ;).
func (r *reader) space() {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			r.at++
		case strings.HasPrefix(rest, ";;"):
			line, _, _ := strings.Cut(rest, "\n")
			r.at += len(line)
		case strings.HasPrefix(rest, "(;"):
			comment, _, ok := strings.Cut(rest, ";)")
			if !ok {
				fail("a (; without ;)")
			}
			r.at += len(comment) + 2
		default:
			return
		}
	}
}

// str reads a string with the escapes \n \t \r \" \' \\ and two hexadecimal digits.
func (r *reader) str() string {
	var b strings.Builder
	for r.at++; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		if c == '"' {
			r.at++
			return b.String()
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		r.at++
		if r.at+1 >= len(r.text) {
			break
		}
		// An escape is one character, or two digits.
		if plain := strings.IndexByte(`ntr"'\`, r.text[r.at]); plain >= 0 {
			b.WriteByte("\n\t\r\"'\\"[plain])
			continue
		}
		v, err := strconv.ParseUint(r.text[r.at:r.at+2], 16, 8)
		if err != nil {
			fail("unknown escape at byte %d", r.at)
		}
		b.WriteByte(byte(v))
		r.at++
	}
	fail("a string without end")
	return ""
}
