// The text of a query or update: its file, its bound values, and the place of an error in it.

package query

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// sparqlText holds the flags and the argument with a query or update.
type sparqlText struct {
	Execute string        `short:"e" placeholder:"TEXT" help:"The text itself."`
	File    string        `arg:"" optional:"" name:"text|file" help:"The text, or the file that holds it; - is standard input."`
	Bind    []string      `sep:"none" placeholder:"NAME=TERM" help:"Give a variable a value, in N-Triples syntax: --bind 'who=<http://example.org/ann>'; repeatable. It goes into the parsed text: no value can change what the text means."`
	Timeout time.Duration `placeholder:"D" help:"Give up after this time, such as 10s; of a server its own limit holds too."`
}

// read returns the text, and its name in messages.
func (t *sparqlText) read(e *console.Env) (text, name string, err error) {
	// 1. Find the source. Exactly one must be given.
	if t.Timeout < 0 {
		return "", "", console.Usagef("--timeout %s: it is more than 0", t.Timeout)
	}
	var in io.Reader
	switch {
	case t.Execute != "" && t.File != "":
		return "", "", console.Usagef("both -e and a file; give one")
	case t.Execute != "":
		return t.Execute, "-e", nil
	case t.File == "":
		return "", "", console.Usagef("give the text, or the file that holds it; - is standard input")
	case t.File == "-":
		name, in = "standard input", e.Input()
	default:
		file, err := os.Open(t.File)
		if err != nil && strings.ContainsAny(t.File, " \t\n{") { // the name of no file, so it is the text
			return t.File, "text", nil
		}
		if err != nil {
			return "", "", err
		}
		defer file.Close()
		name, in = t.File, file
	}
	// 2. One byte more than the limit of the parser shows that a text is too long.
	all, err := io.ReadAll(io.LimitReader(in, parser.DefaultMaxBytes+1))
	if err != nil {
		return "", "", fmt.Errorf("read %s: %w", name, err)
	}
	if len(all) > parser.DefaultMaxBytes {
		return "", "", fmt.Errorf("%s: the text is larger than %s; trefoil load takes documents of any size", name, console.Size(parser.DefaultMaxBytes))
	}
	return strings.TrimPrefix(string(all), "\uFEFF"), name, nil
}

// values returns the values of --bind.
func (t *sparqlText) values(names *target.Names) (map[string]triple.Term, error) {
	values := map[string]triple.Term{}
	for _, binding := range t.Bind {
		name, text, ok := strings.Cut(binding, "=")
		name = strings.TrimLeft(name, "?$")
		if _, twice := values[name]; !ok || name == "" || twice {
			return nil, console.Usagef("--bind %s: write NAME=TERM, each name once", binding)
		}
		term, err := names.Text().Term(text)
		if err != nil {
			return nil, names.Cause(console.Usagef("--bind %s: %w", name, err))
		}
		values[name] = term
	}
	return values, nil
}

// shown adds to an error the line of its place in the text.
func shown(err error, name, text string) error {
	var remote *client.Error
	if errors.As(err, &remote) && errors.Is(err, client.ErrSyntax) && remote.Line > 0 {
		err = &triple.SyntaxError{Line: remote.Line, Column: remote.Column, Msg: remote.Message}
	}
	var bad *triple.SyntaxError
	if !errors.As(err, &bad) {
		return err
	}
	named := *bad
	named.Source = name
	if line := pointAt(text, bad.Line, bad.Column); line != "" {
		return console.WithHint(&named, line)
	}
	return &named
}

// advised adds advice to an error, after its other hints.
func advised(err error, advice string) error {
	if hint := console.HintOf(err); hint != "" {
		advice = hint + "\n  " + advice
	}
	return console.WithHint(err, advice)
}

// shownRunes is the number of characters shown before a mistake, and after it.
const shownRunes = 50

// pointAt returns a line of a text and, below it, a caret at a column; "" if the text has no such
// place.
func pointAt(text string, line, column int) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	if line < 1 || line > len(lines) || column < 1 {
		return ""
	}
	runes := []rune(lines[line-1])
	at := min(column-1, len(runes))
	before, behind := runes[max(0, at-shownRunes):at], runes[at:min(len(runes), at+shownRunes)]
	visible := func(runes []rune) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' ' // tabs and control characters would move the cursor
		}, string(runes))
	}
	start := visible(before)
	return start + visible(behind) + "\n  " + strings.Repeat(" ", runewidth.StringWidth(start)) + "^"
}
