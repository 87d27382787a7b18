// Package regex compiles the regular expressions of XPath (XPath functions and operators, section 5.6.1, on that of XML
// Schema).
//
// [Compile] translates a pattern to RE2's syntax, because package regexp matches it in time linear in the text.
// Back-references and repetitions beyond 1000 are errors, because RE2 lacks them. A [Pattern] searches for a literal of
// its matches before it runs package regexp.
package regex
