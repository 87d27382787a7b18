// Calls of built-in functions.

package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

// function is a function of values bound and no errors. It does not
// keep args.
type function func(env *Env, args []Value) Value

// callables holds the functions with eager arguments. Each of the others has its own
// compilation.
var callables = [ast.NumFunctions]function{
	ast.FuncSameTerm:     sameTerm,
	ast.FuncIsIRI:        isKind(triple.IRI),
	ast.FuncIsBlank:      isKind(triple.Blank),
	ast.FuncIsLiteral:    isKind(triple.Literal),
	ast.FuncIsNumeric:    isNumeric,
	ast.FuncStr:          str,
	ast.FuncLang:         lang,
	ast.FuncDatatype:     datatype,
	ast.FuncBNode:        blankNode,
	ast.FuncStrDT:        strDT,
	ast.FuncStrLang:      strLang,
	ast.FuncUUID:         uuidIRI,
	ast.FuncStrUUID:      uuidString,
	ast.FuncStrLen:       strLen,
	ast.FuncSubstr:       subStr,
	ast.FuncUCase:        upperCase,
	ast.FuncLCase:        lowerCase,
	ast.FuncStrStarts:    stringTest(strings.HasPrefix),
	ast.FuncStrEnds:      stringTest(strings.HasSuffix),
	ast.FuncContains:     stringTest(strings.Contains),
	ast.FuncStrBefore:    strBefore,
	ast.FuncStrAfter:     strAfter,
	ast.FuncEncodeForURI: encodeForURI,
	ast.FuncConcat:       concat,
	ast.FuncLangMatches:  langMatches,
	ast.FuncAbs:          absolute,
	ast.FuncRound:        round,
	ast.FuncCeil:         ceiling,
	ast.FuncFloor:        floor,
	ast.FuncRand:         random,
	ast.FuncNow:          callNow,
	ast.FuncYear:         year,
	ast.FuncMonth:        month,
	ast.FuncDay:          day,
	ast.FuncHours:        hours,
	ast.FuncMinutes:      minutes,
	ast.FuncSeconds:      seconds,
	ast.FuncTimezone:     timezone,
	ast.FuncTZ:           tz,
	ast.FuncAdjust:       adjust,
	ast.FuncMD5:          hashMD5,
	ast.FuncSHA1:         hashSHA1,
	ast.FuncSHA256:       hashSHA256,
	ast.FuncSHA384:       hashSHA384,
	ast.FuncSHA512:       hashSHA512,
	ast.FuncLangDir:      langDir,
	ast.FuncHasLang:      hasLang,
	ast.FuncHasLangDir:   hasLangDir,
	ast.FuncStrLangDir:   strLangDir,
	ast.FuncTriple:       makeTriple,
	ast.FuncSubject:      partOf(triple.Subject),
	ast.FuncPredicate:    partOf(triple.Predicate),
	ast.FuncObject:       partOf(triple.Object),
	ast.FuncIsTriple:     isKind(triple.TripleTerm),
}

// needsEnv reports whether a function's value is not of its arguments alone.
func needsEnv(f ast.Function) bool {
	switch f {
	case ast.FuncBNode, ast.FuncUUID, ast.FuncStrUUID, ast.FuncRand, ast.FuncNow:
		return true
	}
	return false
}

func (c *compiler) call(e *ast.Call) node {
	if least, greatest := e.Func.Arity(); len(e.Args) < least || greatest != ast.Any && len(e.Args) > greatest {
		return c.fail(e, errors.New("wrong number of arguments of "+e.Func.String()))
	}
	if e.Func == ast.FuncBound {
		return c.bound(e)
	}
	args := make([]node, len(e.Args))
	for i, x := range e.Args {
		args[i] = c.compile(x)
	}
	switch e.Func {
	case ast.FuncIf:
		return conditional(args)
	case ast.FuncCoalesce:
		return coalesce(args)
	case ast.FuncIRI:
		return callOf(makeIRI(e.Base), args, false)
	case ast.FuncRegex, ast.FuncReplace:
		return c.regex(e, args)
	}
	return callOf(callables[e.Func], args, needsEnv(e.Func))
}

// callOf returns the call of a function with its arguments.
func callOf(f function, args []node, needsEnv bool) node {
	eval := func(env *Env, row Row) Value {
		base := len(env.stack)
		for i := range args {
			v := args[i].eval(env, row)
			if v.kind <= Error {
				env.stack = env.stack[:base]
				return v.asError()
			}
			env.stack = append(env.stack, v)
		}
		// An argument may have moved the stack: take it only now.
		r := f(env, env.stack[base:])
		clear(env.stack[base:])
		env.stack = env.stack[:base]
		if r.kind == Error && r.n == limitError {
			env.fail(fmt.Errorf("%w: %s", ErrLimit, r.term.Value()))
		}
		return r
	}
	if needsEnv {
		return node{eval: eval}
	}
	return computed(eval, args...)
}

func (c *compiler) bound(e *ast.Call) node {
	v, ok := e.Args[0].(*ast.Var)
	if !ok {
		return c.fail(e, errors.New("the argument of BOUND is no variable"))
	}
	slot := c.slot(v)
	if slot < 0 {
		return constant(falseValue)
	}
	return node{eval: func(_ *Env, row Row) Value { return FromBool(row.Bound(slot)) }}
}

func conditional(args []node) node {
	if args[0].constant {
		switch b, ok := args[0].value.EBV(); {
		case !ok:
			return constant(noBoolean(args[0].value))
		case b:
			return args[1]
		}
		return args[2]
	}
	return node{eval: func(env *Env, row Row) Value {
		test := args[0].eval(env, row)
		b, ok := test.EBV()
		switch {
		case !ok:
			return noBoolean(test)
		case b:
			return args[1].eval(env, row).asError()
		}
		return args[2].eval(env, row).asError()
	}}
}

func coalesce(args []node) node {
	// If a constant is an error, it is never the value.
	args = slices.DeleteFunc(slices.Clone(args), func(n node) bool { return n.constant && !n.value.IsBound() })
	if len(args) > 0 && args[0].constant {
		return args[0]
	}
	return computed(func(env *Env, row Row) Value {
		for i := range args {
			if v := args[i].eval(env, row); v.IsBound() {
				return v
			}
		}
		return errorValue("COALESCE without a value")
	}, args...)
}

// regex compiles REGEX and REPLACE, a constant pattern once and for all.
func (c *compiler) regex(e *ast.Call, args []node) node {
	at, make := 2, regexFunction // if the flags are
	if e.Func == ast.FuncReplace {
		at, make = 3, replaceFunction
	}
	pattern := args[1:2:2]
	if len(args) > at {
		pattern = append(pattern, args[at])
	}
	values := []Value{}
	for _, n := range pattern {
		if !n.constant || n.value.kind != String {
			return callOf(make(nil), args, false)
		}
		values = append(values, n.value)
	}
	re, err := patternOf(values)
	switch {
	case errors.Is(err, regex.ErrUnsupported):
		return c.fail(e, err)
	case err != nil:
		return constant(errorValue(err.Error()))
	}
	return callOf(make(re), args, false)
}

// patternOf compiles a pattern with flags or without, both xsd:string.
func patternOf(args []Value) (*regex.Pattern, error) {
	flags := ""
	if len(args) > 1 {
		flags = args[1].term.Value()
	}
	return regex.Compile(args[0].term.Value(), flags)
}
