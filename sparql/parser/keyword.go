// Keywords, in any case.

package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// keywords has every keyword in upper case, functions and all.
var keywords = func() map[string]string {
	table := map[string]string{}
	for _, word := range strings.Fields(`
		BASE PREFIX VERSION SELECT DISTINCT REDUCED AS CONSTRUCT DESCRIBE ASK FROM NAMED WHERE
		GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET VALUES UNDEF
		OPTIONAL LATERAL GRAPH SERVICE SILENT BIND MINUS UNION FILTER EXISTS NOT IN
		LOAD INTO CLEAR DROP CREATE ADD TO MOVE COPY INSERT DELETE DATA WITH USING DEFAULT ALL
		COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT SEPARATOR TRUE FALSE`) {
		table[word] = word
	}
	for word := range functions {
		table[word] = word
	}
	return table
}()

// functions are the functions of the grammar, by keyword.
var functions = func() map[string]ast.Function {
	table := map[string]ast.Function{"URI": ast.FuncIRI, "ISURI": ast.FuncIsIRI}
	for f := ast.Function(0); f < ast.NumFunctions; f++ {
		table[strings.ToUpper(f.String())] = f
	}
	return table
}()

// aggregates are the set functions, by keyword.
var aggregates = map[string]ast.AggregateFunc{
	"COUNT": ast.AggCount, "SUM": ast.AggSum, "MIN": ast.AggMin, "MAX": ast.AggMax,
	"AVG": ast.AggAvg, "SAMPLE": ast.AggSample, "GROUP_CONCAT": ast.AggGroupConcat,
}

const maxKeywordBytes = 16

// keyword returns s as a keyword in upper case if it is one in any case. "a" stays in lower
// case and must be written so. It returns "" for any other word.
func keyword(s string) string {
	if s == "a" {
		return "a"
	}
	if len(s) > maxKeywordBytes {
		return ""
	}
	var upper [maxKeywordBytes]byte
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	return keywords[string(upper[:len(s)])]
}
