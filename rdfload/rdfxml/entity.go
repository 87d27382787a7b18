// Entities and character references.

package rdfxml

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/rdfload/syntax/ncname"
)

// Limits of a DTD's entities.
const (
	maxEntities    = 10_000
	maxEntityBytes = 4096
)

// entities returns the internal general entities of a DOCTYPE declaration in the decoder's form. If
// a name is declared twice, the first declaration counts. Parameter entities and external entities
// are left out, so a use of one is an error.
func entities(doctype string) (map[string]string, error) {
	found := make(map[string]string)
	// 1. Only the internal subset can declare entities.
	_, subset, ok := strings.Cut(doctype, "[")
	if !ok {
		return found, nil
	}
	// 2. Read one declaration after the other. Those of other kinds are skipped.
	for {
		_, rest, ok := strings.Cut(subset, "<!ENTITY")
		if !ok {
			return found, nil
		}
		subset = strings.TrimLeft(rest, " \t\r\n")
		end := strings.IndexAny(subset, " \t\r\n%>\"'")
		if end <= 0 || !ncname.Is(subset[:end]) {
			continue // a parameter entity
		}
		name := subset[:end]
		subset = strings.TrimLeft(subset[end:], " \t\r\n")
		if subset == "" || subset[0] != '"' && subset[0] != '\'' {
			continue // an external entity
		}
		value, rest, ok := strings.Cut(subset[1:], subset[:1])
		if !ok {
			return nil, fmt.Errorf("the value of the entity %s is not closed", name)
		}
		subset = rest
		// 3. Expand the value with the entities before it, so that entities cannot refer to
		// themselves.
		expanded, err := expand(value, found)
		if err != nil {
			return nil, fmt.Errorf("entity %s: %w", name, err)
		}
		if _, ok := found[name]; !ok {
			found[name] = expanded
		}
		if len(found) > maxEntities {
			return nil, fmt.Errorf("more than %d entities", maxEntities)
		}
	}
}

// expand replaces the references in an entity's value. The error says why the value is not
// supported.
func expand(value string, known map[string]string) (string, error) {
	var out strings.Builder
	for {
		text, rest, found := strings.Cut(value, "&")
		if strings.ContainsAny(text, "<%") {
			return "", fmt.Errorf("only text is supported as a value, found %q", value)
		}
		out.WriteString(text)
		if out.Len() > maxEntityBytes {
			return "", fmt.Errorf("the value is longer than %d bytes", maxEntityBytes)
		}
		if !found {
			return out.String(), nil
		}
		name, rest, ok := strings.Cut(rest, ";")
		replacement, err := reference(name, known)
		if !ok || err != nil {
			return "", fmt.Errorf("undefined reference &%s;", clip(name))
		}
		out.WriteString(replacement)
		value = rest
	}
}

// reference returns the replacement of &name; or an error if it is unknown.
func reference(name string, known map[string]string) (string, error) {
	// 1. A character reference, decimal or hexadecimal.
	if number, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(number, "x"); ok {
			number, base = hex, 16
		}
		n, err := strconv.ParseUint(number, base, 32)
		if err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
			return "", strconv.ErrSyntax
		}
		return string(rune(n)), nil
	}
	// 2. The five predefined entities come before declared ones, because declarations must not
	// change them.
	switch name {
	case "amp":
		return "&", nil
	case "lt":
		return "<", nil
	case "gt":
		return ">", nil
	case "quot":
		return "\"", nil
	case "apos":
		return "'", nil
	}
	if value, ok := known[name]; ok {
		return value, nil
	}
	return "", strconv.ErrSyntax
}
