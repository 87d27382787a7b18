// Functions on RDF terms.

package expr

import (
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// Functions on terms (section 17.4.2), hashes (17.4.6), and functions on an [Env].

func sameTerm(_ *Env, args []Value) Value { return FromBool(args[0].Term() == args[1].Term()) }

func isKind(kind triple.Kind) function {
	return func(_ *Env, args []Value) Value {
		v := args[0]
		is := triple.Literal
		switch v.kind {
		case IRI:
			is = triple.IRI
		case Blank:
			is = triple.Blank
		case TripleTerm:
			is = triple.TripleTerm
		}
		return FromBool(is == kind)
	}
}

func isNumeric(_ *Env, args []Value) Value {
	v := args[0].Parsed()
	return FromBool(v.isNumeric())
}

func str(_ *Env, args []Value) Value {
	v := args[0]
	switch v.kind {
	case Blank, TripleTerm:
		return errType
	case String:
		return v
	}
	return FromString(v.lexical())
}

func lang(_ *Env, args []Value) Value {
	if !args[0].isLiteral() {
		return errType
	}
	return FromString(args[0].term.Lang())
}

func langDir(_ *Env, args []Value) Value {
	if !args[0].isLiteral() {
		return errType
	}
	return FromString(args[0].term.Direction())
}

func hasLang(_ *Env, args []Value) Value { return FromBool(args[0].kind == LangString) }

func hasLangDir(_ *Env, args []Value) Value { return FromBool(args[0].term.Direction() != "") }

func datatype(_ *Env, args []Value) Value {
	if !args[0].isLiteral() {
		return errType
	}
	return Value{kind: IRI, term: triple.NewIRI(args[0].Datatype())}
}

// makeIRI returns the function IRI with a base, resolved by resolve if it is not nil.
func makeIRI(base string) function {
	return func(_ *Env, args []Value) Value {
		if args[0].kind == IRI {
			return args[0]
		}
		ref, ok := asSimple(args[0])
		if !ok {
			return errType
		}
		if base != "" {
			var err error
			if ref, err = iri.Resolve(base, ref); err != nil {
				return errorValue(err.Error())
			}
		}
		if err := triple.CheckIRI(ref); err != nil {
			return errorValue(err.Error())
		}
		if len(ref) > triple.MaxTermBytes {
			return errLength
		}
		return Value{kind: IRI, term: triple.NewIRI(ref)}
	}
}

// blankNode: with a label, one blank node for each label in a solution.
func blankNode(env *Env, args []Value) Value {
	if len(args) == 0 {
		return env.newBlank()
	}
	label, ok := asSimple(args[0])
	if !ok {
		return errType
	}
	if v, ok := env.blanks[label]; ok {
		return v
	}
	v := env.newBlank()
	if env.blanks == nil {
		env.blanks = make(map[string]Value)
	}
	env.blanks[label] = v
	return v
}

func strDT(_ *Env, args []Value) Value {
	lexical, ok := asSimple(args[0])
	if !ok || args[1].kind != IRI {
		return errType
	}
	return checked(triple.NewTyped(lexical, args[1].term.Value()))
}

func strLang(_ *Env, args []Value) Value {
	lexical, ok1 := asSimple(args[0])
	tag, ok2 := asSimple(args[1])
	if !ok1 || !ok2 || tag == "" || strings.Contains(tag, "--") {
		return errType
	}
	return checked(triple.NewLang(lexical, tag))
}

// strLangDir takes the direction only in small letters.
func strLangDir(_ *Env, args []Value) Value {
	lexical, ok1 := asSimple(args[0])
	tag, ok2 := asSimple(args[1])
	direction, ok3 := asSimple(args[2])
	if !ok1 || !ok2 || !ok3 || tag == "" || direction == "" || strings.Contains(tag, "--") {
		return errType
	}
	return checked(triple.NewLang(lexical, tag+"--"+direction))
}

func checked(t triple.Term) Value {
	if err := cmp.Or(t.Check(), t.CheckLanguage()); err != nil {
		return errorValue(err.Error())
	}
	return FromTerm(t)
}

func uuidIRI(env *Env, _ []Value) Value {
	return Value{kind: IRI, term: triple.NewIRI("urn:uuid:" + env.uuid())}
}

func uuidString(env *Env, _ []Value) Value { return FromString(env.uuid()) }

func callNow(env *Env, _ []Value) Value { return env.currentTime() }

// random returns a double in [0, 1).
func random(env *Env, _ []Value) Value { return FromDouble(float64(env.random()>>11) / (1 << 53)) }

func hash(sum func([]byte) []byte) function {
	return func(_ *Env, args []Value) Value {
		text, ok := asSimple(args[0])
		if !ok {
			return errType
		}
		return FromString(hex.EncodeToString(sum([]byte(text))))
	}
}

var (
	hashMD5    = hash(func(b []byte) []byte { s := md5.Sum(b); return s[:] })
	hashSHA1   = hash(func(b []byte) []byte { s := sha1.Sum(b); return s[:] })
	hashSHA256 = hash(func(b []byte) []byte { s := sha256.Sum256(b); return s[:] })
	hashSHA384 = hash(func(b []byte) []byte { s := sha512.Sum384(b); return s[:] })
	hashSHA512 = hash(func(b []byte) []byte { s := sha512.Sum512(b); return s[:] })
)

// formatUUID writes a random UUID (RFC 9562, version 4).
func formatUUID(hi, lo uint64) string {
	hi = hi&^0xF000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xFFFF, hi&0xFFFF, lo>>48, lo&0xFFFFFFFFFFFF)
}
