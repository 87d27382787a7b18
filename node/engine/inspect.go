package engine

import "github.com/trefoildb/trefoil/sparql/ast"

// Prologue returns the base and the prefixes that the query declares.
func (q *Query) Prologue() ast.Prologue { return q.tree.Prologue }
