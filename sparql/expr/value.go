// Values: terms with their typed values, and errors.

package expr

import (
	"errors"
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/trefoildb/trefoil/triple"
)

// Kind is the type of a [Value].
type Kind uint8

// The kinds of values.
const (
	Unbound Kind = iota // no value; an error for all but BOUND, COALESCE and the like
	Error
	Blank
	IRI
	TripleTerm
	String
	LangString
	Boolean
	Integer // xsd:integer and all types derived from it
	Decimal
	Float
	Double
	DateTime
	Date
	Time
	Duration // xsd:duration itself
	DayTimeDuration
	YearMonthDuration
	Other    // a literal of an unknown datatype
	IllTyped // a literal of a known datatype whose lexical form is not one of it
	unparsed // a literal of a known datatype, not yet parsed
)

// Value is the value of an expression: a term, unbound, or an error. The zero
// Value is unbound. Values are never changed, and may be copied.
//
// It is one type for all kinds, because operators and comparisons take any two of them. Its methods
// lie in a file for each group of kinds: number.go, instant.go, duration.go.
type Value struct {
	term triple.Term // zero for a computed value until its term is needed

	// The value by kind:
	//
	//	Boolean              n is 0 or 1
	//	Integer, Decimal     big, or n x 10^-scale if big is nil
	//	DayTimeDuration      so too, in seconds
	//	YearMonthDuration    n months
	//	Duration             n months and big seconds
	//	Float, Double        the bits of a float64
	//	DateTime, Date, Time n seconds since 1970-01-01T00:00:00Z (no zone: as
	//	                     UTC), rounded down, and nanos; big is the whole
	//	                     fraction if nine digits do not hold it
	n     int64
	big   *apd.Decimal // never changed once it is here
	nanos uint32
	zone  int16 // minutes east of UTC, or noZone
	kind  Kind
	scale uint8
}

// noZone is the zone of a date or time without one.
const noZone = math.MinInt16

// Datatypes without a name in package triple.
const (
	xsdDuration          = triple.XSD + "duration"
	xsdDayTimeDuration   = triple.XSD + "dayTimeDuration"
	xsdYearMonthDuration = triple.XSD + "yearMonthDuration"
)

// FromTerm returns the value of a term; of the zero Term, unbound. A literal is
// parsed when an operator first needs its typed value: see [Value.Parsed].
func FromTerm(t triple.Term) Value {
	v := Value{term: t}
	switch t.Kind() {
	case triple.Blank:
		v.kind = Blank
	case triple.IRI:
		v.kind = IRI
	case triple.TripleTerm:
		v.kind = TripleTerm
	case triple.Literal:
		switch {
		case t.Datatype() == triple.XSDString:
			v.kind = String
		case t.Lang() != "":
			v.kind = LangString
		case typeOf(t.Datatype()) == Other:
			v.kind = Other
		default:
			v.kind = unparsed
		}
	}
	return v
}

// Parsed returns v with its literal parsed. Callers need it if they use a value more than once.
// It costs nothing if the literal was parsed before.
func (v Value) Parsed() Value {
	if v.kind == unparsed {
		v.parse()
	}
	return v
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.Parsed().kind }

// IsBound reports whether v is a term: neither unbound nor an error.
func (v Value) IsBound() bool { return v.kind > Error }

// ErrEvaluation is wrapped by all errors of expressions.
var ErrEvaluation = errors.New("expression error")

// evaluationError is the error of a Value.
type evaluationError string

func (e evaluationError) Error() string { return string(e) }
func (e evaluationError) Unwrap() error { return ErrEvaluation }

// Err returns why v is an error or unbound, nil if it is a term.
func (v Value) Err() error {
	switch v.kind {
	case Unbound:
		return evaluationError("unbound variable")
	case Error:
		return evaluationError(v.term.Value())
	}
	return nil
}

// errorValue returns an error; why helps to debug a query.
func errorValue(why string) Value { return Value{kind: Error, term: triple.NewString(why)} }

// ErrLimit is wrapped by [Env.Err] when an expression exceeded a limit of this package, such as
// the length of a string. It must end the query. An error of SPARQL would only leave a variable
// unbound.
var ErrLimit = errors.New("an expression goes beyond a limit")

// limitError in a Value's n marks an error as ErrLimit.
const limitError = 1

func limitValue(why string) Value {
	v := errorValue(why)
	v.n = limitError
	return v
}

// Errors of most operators.
var (
	errUnbound  = errorValue("unbound variable")
	errType     = errorValue("an operand of the wrong type")
	errTooLarge = errorValue("a number, date or duration beyond the limits")
	errDivide   = errorValue("division by zero")
)

// asError returns v if it is an error, an error if it is unbound.
func (v Value) asError() Value {
	if v.kind == Unbound {
		return errUnbound
	}
	return v
}

// Term returns the term of v, the zero Term if v is unbound or an error.
func (v Value) Term() triple.Term {
	if v.kind <= Error {
		return triple.Term{}
	}
	if v.term.IsZero() {
		return triple.NewTyped(v.canonical(), v.Datatype())
	}
	return v.term
}

// Datatype returns the datatype of a literal, "" for all other values.
func (v Value) Datatype() string {
	if v.kind <= Error {
		return ""
	}
	if !v.term.IsZero() {
		return v.term.Datatype()
	}
	return datatypes[v.kind]
}

// datatypes holds the datatype of computed values by kind.
var datatypes = [...]string{
	Boolean:           triple.XSDBoolean,
	Integer:           triple.XSDInteger,
	Decimal:           triple.XSDDecimal,
	Float:             triple.XSDFloat,
	Double:            triple.XSDDouble,
	DateTime:          triple.XSDDateTime,
	Date:              triple.XSDDate,
	Time:              triple.XSDTime,
	Duration:          xsdDuration,
	DayTimeDuration:   xsdDayTimeDuration,
	YearMonthDuration: xsdYearMonthDuration,
}

// lexical returns a literal's lexical form or an IRI.
func (v Value) lexical() string {
	if v.term.IsZero() {
		return v.canonical()
	}
	return v.term.Value()
}

// bare returns v without its original term, so it has the canonical lexical form and the
// datatype of its kind.
func (v Value) bare() Value {
	v.term = triple.Term{}
	return v
}

// Constructors of computed values.

var (
	trueValue  = Value{kind: Boolean, n: 1}
	falseValue = Value{kind: Boolean}
)

// FromBool returns an xsd:boolean.
func FromBool(b bool) Value {
	if b {
		return trueValue
	}
	return falseValue
}

// FromInt returns an xsd:integer.
func FromInt(n int64) Value { return Value{kind: Integer, n: n} }

// FromDouble returns an xsd:double.
func FromDouble(f float64) Value { return Value{kind: Double, n: int64(math.Float64bits(f))} }

func fromFloat(f float32) Value {
	return Value{kind: Float, n: int64(math.Float64bits(float64(f)))}
}

// FromString returns an xsd:string.
func FromString(s string) Value { return Value{kind: String, term: triple.NewString(s)} }

// fromLike returns a string of the same language and direction as v. v must be a string.
func fromLike(s string, v Value) Value {
	if v.kind == LangString {
		return Value{kind: LangString, term: triple.NewLang(s, v.term.LangDir())}
	}
	return FromString(s)
}

func (v *Value) isNumeric() bool { return v.kind >= Integer && v.kind <= Double }
func (v *Value) isExact() bool   { return v.kind == Integer || v.kind == Decimal }
func (v *Value) isString() bool  { return v.kind == String || v.kind == LangString }
func (v *Value) isLiteral() bool { return v.kind >= String }
func (v *Value) isInstant() bool { return v.kind >= DateTime && v.kind <= Time }
func (v Value) isDuration() bool {
	return v.kind >= Duration && v.kind <= YearMonthDuration
}

// float returns the bits of a Float or Double as a number.
func (v Value) float() float64 { return math.Float64frombits(uint64(v.n)) }

// EBVErr returns why v has no effective boolean value, nil if it has one.
func (v Value) EBVErr() error {
	if _, ok := v.EBV(); ok {
		return nil
	}
	return noBoolean(v).Err()
}

// EBV returns the effective boolean value of v (section 17.2.2); ok is false if it is an error, such as
// that of an ill-typed literal or of a string with a language (SPARQL 1.1 had a value for both).
func (v Value) EBV() (value, ok bool) {
	if v.kind == unparsed {
		v.parse()
	}
	switch v.kind {
	case Boolean:
		return v.n != 0, true
	case String:
		return v.term.Value() != "", true
	case Integer, Decimal:
		return v.sign() != 0, true
	case Float, Double:
		f := v.float()
		return f != 0 && f == f, true
	}
	return false, false
}
