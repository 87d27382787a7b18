// Lines of JSON with a triple and its annotations: NDJSON dumps.

package triple

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// LineError is an error in a line of JSON.
type LineError struct {
	Offset int // in the line, in bytes
	Err    error
}

func (e *LineError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its place.
func (e *LineError) Unwrap() error { return e.Err }

// ParseAnnotatedJSON parses a line of [AppendNDJSON], with or without its line end:
//
//	{"s":TERM,"p":TERM,"o":TERM,"g":TERM,"annotations":[{"app":"ID","type":"text/plain","text":"..."}]}
//
// g and annotations may be missing. TERM and the members of annotations are those of
// [ParseAnnotationChanges]. The error is a *[LineError].
func ParseAnnotatedJSON(line []byte) (t Triple, annotations []ApplicationData, err error) {
	// 1. The whole line must be JSON, because members may then be found without further checks.
	if at, err := checkJSON(line); err != nil {
		return t, nil, &LineError{at, err}
	}
	// 2. Each member occurs once.
	seen := map[string]bool{}
	at, err := eachMember(line, func(name string, value []byte) error {
		if seen[name] {
			return fmt.Errorf("%q occurs twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "s":
			t.Subject, err = ParseTermJSON(value)
		case "p":
			t.Predicate, err = ParseTermJSON(value)
		case "o":
			t.Object, err = ParseTermJSON(value)
		case "g":
			t.Graph, err = ParseTermJSON(value)
		case "annotations":
			annotations, err = parseAnnotationsJSON(value)
		default:
			return fmt.Errorf("unknown member %q: a line has s, p, o, g and annotations", clip(name))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return t, nil, &LineError{at, err}
	}
	// 3. The terms must make a triple.
	for _, name := range []string{"s", "p", "o"} {
		if !seen[name] {
			return t, nil, &LineError{0, fmt.Errorf("%s is missing: a line has s, p, o and maybe g and annotations", name)}
		}
	}
	if err := t.Check(); err != nil {
		return t, nil, &LineError{0, err}
	}
	return t, annotations, nil
}

// parseAnnotationsJSON parses the list of a triple's annotations. Their versions are of another
// store, so they are ignored.
func parseAnnotationsJSON(text []byte) ([]ApplicationData, error) {
	var list []annotationJSON
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, jsonError(err)
	}
	// Each of its annotations, which must be of different applications.
	all := make([]ApplicationData, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i := range list {
		id, err := list[i].applicationID()
		var content []byte
		if err == nil {
			content, err = list[i].content()
		}
		if err == nil && seen[id] {
			err = errors.New("two annotations of one application on one line")
		}
		var a ApplicationData
		if err == nil {
			seen[id] = true
			a, err = annotationOf(id, list[i].Type, content)
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// checkJSON returns the place and the reason if a text is not one JSON object of Unicode text.
func checkJSON(text []byte) (int, error) {
	var object ignored
	if err := json.Unmarshal(text, &object); err != nil {
		at := len(text)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = max(int(syntax.Offset)-1, 0)
		}
		return at, err
	}
	if start := skipJSONSpace(text, 0); text[start] != '{' {
		return start, errors.New("expected a JSON object with s, p and o")
	}
	return checkCharacters(text)
}

// checkCharacters returns the place and the reason if JSON has characters that are not Unicode. The
// decoder alone would replace them. The syntax must have been checked.
func checkCharacters(text []byte) (int, error) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return i, fmt.Errorf("invalid UTF-8 (byte 0x%02X)", c)
			}
			i += size
		case c != '\\':
			i++
		case text[i+1] != 'u':
			i += 2
		default:
			// An escape \u: a high surrogate must have a low one behind it.
			size := 6
			if r := hex4(text[i+2:]); r >= 0xDC00 && r < 0xE000 {
				return i, errors.New("the escape is half of a surrogate pair")
			} else if r >= 0xD800 && r < 0xDC00 {
				rest := text[i+6:]
				if size = 12; len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || hex4(rest[2:])&^0x3FF != 0xDC00 {
					return i, errors.New("the escape is half of a surrogate pair")
				}
			}
			i += size
		}
	}
	return 0, nil
}

// ignored is a JSON value of any kind.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// hex4 returns the number of four hexadecimal digits.
func hex4(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // the JSON was checked
	return rune(n)
}

func skipJSONSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// eachMember calls do with the name and the value of each member of an object. The text must have
// passed [checkJSON]. If do returns an error, eachMember returns it with the place of the value.
func eachMember(text []byte, do func(name string, value []byte) error) (at int, err error) {
	i := skipJSONSpace(text, 0) + 1
	for i = skipJSONSpace(text, i); text[i] != '}'; i = skipJSONSpace(text, i) {
		if text[i] == ',' {
			i++
			continue
		}
		end := skipValue(text, i)
		var name string
		if err := json.Unmarshal(text[i:end], &name); err != nil {
			return i, err
		}
		// The value, after the colon.
		i = skipJSONSpace(text, skipJSONSpace(text, end)+1)
		end = skipValue(text, i)
		if err := do(name, text[i:end]); err != nil {
			return i, err
		}
		i = end
	}
	return 0, nil
}

// skipValue returns the end of the JSON value at text[i:].
func skipValue(text []byte, i int) int {
	// A value at depth 0 ends with its string, its last bracket, or before what follows a number or
	// a word.
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth <= 1 {
				return i + depth // at depth 0 the bracket ends the object around a number
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
