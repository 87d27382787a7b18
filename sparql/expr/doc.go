// Package expr evaluates the expressions of SPARQL 1.2 (section 17 of the
// recommendation): operators with XSD arithmetic and type promotion, functions,
// casts, aggregates, and the order of ORDER BY. It has no goroutine, clock, file
// or source of randomness: NOW, RAND, UUID and BNODE take theirs from an [Env].
//
//	x, err := expr.Compile(filter, expr.Scope{})
//	for each solution row {
//		env.NextSolution()
//		if x.Test(env, row) { ...
//
// # Values
//
// A [Value] is an RDF term, its typed value, or an error; errors are values, because &&, ||,
// IN, IF and COALESCE may survive them. A literal keeps its lexical form until an operator
// makes a new value of it; new values have canonical forms (integers "3", decimals "3.0",
// doubles "3.0E0", dates with their zone).
//
// # Arithmetic
//
// Integers and decimals are exact, up to 10,000 digits; a greater result is an error. The
// quotient of integers or decimals is a decimal, exact if it has no more than 34 significant
// digits and else rounded half up to 34, or to 18 or 19 behind the point if those are more. An
// operand is promoted decimal -> float -> double before an operation, as XPath has it, in
// comparisons too.
//
// # Equality and order
//
// RDFterm-equal is an error if two literals may or may not be the same value:
// one is ill-typed or has an unknown datatype. If both are known, values of
// different kinds (a number and a string, a date and a dateTime, a string with a
// language and one without) are known to differ.
//
// A dateTime, date or time with a zone and one without compare only if they
// are more than 14 hours apart, else the comparison is an error.
//
// ORDER BY has one total order (see [Compare]). It agrees with the operator < if < is defined.
//
// # Not of the recommendation
//
// Extensions are: dates, times and durations in comparisons and arithmetic, as XPath defines
// them; YEAR to TZ of xsd:date and xsd:time; and casts to all types with known values.
package expr
