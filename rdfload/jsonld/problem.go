// Errors of documents.

package jsonld

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// problem is an error with a code of the recommendation (section 9.4.2 of JSON-LD 1.1 API). The code
// begins the message, because other tools have the same ones.
type problem struct {
	code  string
	cause error
}

func (e *problem) Error() string { return e.code + ": " + e.cause.Error() }
func (e *problem) Unwrap() error { return e.cause }

func failf(code, format string, args ...any) error {
	return &problem{code, fmt.Errorf(format, args...)}
}

// namedError marks an error that names its term already, because terms may be defined within others.
type namedError struct{ error }

var errNamed = errors.New("named")

func (e namedError) Is(target error) bool { return target == errNamed }
func (e namedError) Unwrap() error        { return e.error }

// The codes.
const (
	collidingKeywords      = "colliding keywords"
	contextOverflow        = "context overflow"
	cyclicMapping          = "cyclic IRI mapping"
	invalidAlias           = "invalid keyword alias"
	invalidBase            = "invalid base IRI"
	invalidContainer       = "invalid container mapping"
	invalidDefaultLanguage = "invalid default language"
	invalidDirection       = "invalid base direction"
	invalidEntry           = "invalid context entry"
	invalidID              = "invalid @id value"
	invalidImport          = "invalid @import value"
	invalidIncluded        = "invalid @included value"
	invalidIndex           = "invalid @index value"
	invalidLanguageMap     = "invalid language map value"
	invalidLanguageMapping = "invalid language mapping"
	invalidLanguageString  = "invalid language-tagged string"
	invalidLanguageValue   = "invalid language-tagged value"
	invalidLocalContext    = "invalid local context"
	invalidMapping         = "invalid IRI mapping"
	invalidNest            = "invalid @nest value"
	invalidNullification   = "invalid context nullification"
	invalidPrefix          = "invalid @prefix value"
	invalidPropagate       = "invalid @propagate value"
	invalidProtected       = "invalid @protected value"
	invalidRemote          = "invalid remote context"
	invalidReverse         = "invalid reverse property"
	invalidReverseMap      = "invalid reverse property map"
	invalidReverseTarget   = "invalid reverse property value"
	invalidReverseValue    = "invalid @reverse value"
	invalidScoped          = "invalid scoped context"
	invalidSetOrList       = "invalid set or list object"
	invalidTerm            = "invalid term definition"
	invalidType            = "invalid type value"
	invalidTypeMapping     = "invalid type mapping"
	invalidTypedValue      = "invalid typed value"
	invalidValueObject     = "invalid value object"
	invalidValueValue      = "invalid value object value"
	invalidVersion         = "invalid @version value"
	invalidVocab           = "invalid vocab mapping"
	keywordRedefinition    = "keyword redefinition"
	loadingFailed          = "loading remote context failed"
	protectedRedefinition  = "protected term redefinition"
)

// show returns a JSON value for a message.
func show(value any) string {
	switch value := value.(type) {
	case object:
		return "an object"
	case []any:
		if len(value) == 0 {
			return "an empty array"
		}
	}
	text, err := appendCanonical(nil, value)
	if err != nil {
		return "a number out of range"
	}
	return clip(string(text))
}

// clip shortens a string for a message to about 80 bytes.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
