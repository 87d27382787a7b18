// The names of built-in functions and of aggregates.

package ast

import "fmt"

// Function is a function or functional form of the grammar (rules 121 to 124).
type Function uint8

// The functions, in the order of section 17.4.
const (
	FuncBound Function = iota
	FuncIf
	FuncCoalesce
	FuncSameTerm
	FuncIsIRI // also isURI
	FuncIsBlank
	FuncIsLiteral
	FuncIsNumeric
	FuncStr
	FuncLang
	FuncDatatype
	FuncIRI // also URI
	FuncBNode
	FuncStrDT
	FuncStrLang
	FuncUUID
	FuncStrUUID
	FuncStrLen
	FuncSubstr
	FuncUCase
	FuncLCase
	FuncStrStarts
	FuncStrEnds
	FuncContains
	FuncStrBefore
	FuncStrAfter
	FuncEncodeForURI
	FuncConcat
	FuncLangMatches
	FuncRegex
	FuncReplace
	FuncAbs
	FuncRound
	FuncCeil
	FuncFloor
	FuncRand
	FuncNow
	FuncYear
	FuncMonth
	FuncDay
	FuncHours
	FuncMinutes
	FuncSeconds
	FuncTimezone
	FuncTZ
	FuncAdjust
	FuncMD5
	FuncSHA1
	FuncSHA256
	FuncSHA384
	FuncSHA512
	FuncLangDir
	FuncHasLang
	FuncHasLangDir
	FuncStrLangDir
	FuncTriple // also <<( ... )>>
	FuncSubject
	FuncPredicate
	FuncObject
	FuncIsTriple
	numFunctions
)

// Any is the greatest number of arguments if a function takes any number.
const Any = -1

var functions = [numFunctions]struct {
	name     string
	min, max int
}{
	FuncBound:        {"BOUND", 1, 1},
	FuncIf:           {"IF", 3, 3},
	FuncCoalesce:     {"COALESCE", 0, Any},
	FuncSameTerm:     {"sameTerm", 2, 2},
	FuncIsIRI:        {"isIRI", 1, 1},
	FuncIsBlank:      {"isBLANK", 1, 1},
	FuncIsLiteral:    {"isLITERAL", 1, 1},
	FuncIsNumeric:    {"isNUMERIC", 1, 1},
	FuncStr:          {"STR", 1, 1},
	FuncLang:         {"LANG", 1, 1},
	FuncDatatype:     {"DATATYPE", 1, 1},
	FuncIRI:          {"IRI", 1, 1},
	FuncBNode:        {"BNODE", 0, 1},
	FuncStrDT:        {"STRDT", 2, 2},
	FuncStrLang:      {"STRLANG", 2, 2},
	FuncUUID:         {"UUID", 0, 0},
	FuncStrUUID:      {"STRUUID", 0, 0},
	FuncStrLen:       {"STRLEN", 1, 1},
	FuncSubstr:       {"SUBSTR", 2, 3},
	FuncUCase:        {"UCASE", 1, 1},
	FuncLCase:        {"LCASE", 1, 1},
	FuncStrStarts:    {"STRSTARTS", 2, 2},
	FuncStrEnds:      {"STRENDS", 2, 2},
	FuncContains:     {"CONTAINS", 2, 2},
	FuncStrBefore:    {"STRBEFORE", 2, 2},
	FuncStrAfter:     {"STRAFTER", 2, 2},
	FuncEncodeForURI: {"ENCODE_FOR_URI", 1, 1},
	FuncConcat:       {"CONCAT", 0, Any},
	FuncLangMatches:  {"LANGMATCHES", 2, 2},
	FuncRegex:        {"REGEX", 2, 3},
	FuncReplace:      {"REPLACE", 3, 4},
	FuncAbs:          {"ABS", 1, 1},
	FuncRound:        {"ROUND", 1, 1},
	FuncCeil:         {"CEIL", 1, 1},
	FuncFloor:        {"FLOOR", 1, 1},
	FuncRand:         {"RAND", 0, 0},
	FuncNow:          {"NOW", 0, 0},
	FuncYear:         {"YEAR", 1, 1},
	FuncMonth:        {"MONTH", 1, 1},
	FuncDay:          {"DAY", 1, 1},
	FuncHours:        {"HOURS", 1, 1},
	FuncMinutes:      {"MINUTES", 1, 1},
	FuncSeconds:      {"SECONDS", 1, 1},
	FuncTimezone:     {"TIMEZONE", 1, 1},
	FuncTZ:           {"TZ", 1, 1},
	FuncAdjust:       {"ADJUST", 2, 2},
	FuncMD5:          {"MD5", 1, 1},
	FuncSHA1:         {"SHA1", 1, 1},
	FuncSHA256:       {"SHA256", 1, 1},
	FuncSHA384:       {"SHA384", 1, 1},
	FuncSHA512:       {"SHA512", 1, 1},
	FuncLangDir:      {"LANGDIR", 1, 1},
	FuncHasLang:      {"hasLANG", 1, 1},
	FuncHasLangDir:   {"hasLANGDIR", 1, 1},
	FuncStrLangDir:   {"STRLANGDIR", 3, 3},
	FuncTriple:       {"TRIPLE", 3, 3},
	FuncSubject:      {"SUBJECT", 1, 1},
	FuncPredicate:    {"PREDICATE", 1, 1},
	FuncObject:       {"OBJECT", 1, 1},
	FuncIsTriple:     {"isTRIPLE", 1, 1},
}

// NumFunctions is how many functions there are: f < NumFunctions for all f.
const NumFunctions = numFunctions

// String returns the function's keyword.
func (f Function) String() string {
	if f < numFunctions {
		return functions[f].name
	}
	return fmt.Sprintf("function %d", uint8(f))
}

// Arity returns the least and the greatest number of arguments; the greatest is
// [Any] if there is none.
func (f Function) Arity() (least, greatest int) { return functions[f].min, functions[f].max }
