// The printer's part for expressions and property paths.

package ast

import "strconv"

// exprPrinter prints expressions and property paths.
type exprPrinter struct{ *printer }

func (p *printer) expressions() exprPrinter { return exprPrinter{p} }

// Ranks of expressions: an operand of a lower rank than its place requires
// stands in parentheses.
const (
	rankOr = iota + 1
	rankAnd
	rankRelation
	rankSum
	rankProduct
	rankUnary
	rankPrimary
)

func rankOf(e Expr) int {
	switch e := e.(type) {
	case *Unary:
		return rankUnary
	case *In:
		return rankRelation
	case *Binary:
		switch {
		case e.Op == OpOr:
			return rankOr
		case e.Op == OpAnd:
			return rankAnd
		case e.Op.IsComparison():
			return rankRelation
		case e.Op == OpAdd || e.Op == OpSubtract:
			return rankSum
		}
		return rankProduct
	}
	return rankPrimary
}

// operand writes e, in parentheses if its rank is less than required.
func (p exprPrinter) operand(e Expr, rank int) {
	if rankOf(e) < rank {
		p.text("(")
		p.expr(e)
		p.text(")")
		return
	}
	p.expr(e)
}

// constraint writes e as FILTER and HAVING take it.
func (p exprPrinter) constraint(e Expr) {
	switch e.(type) {
	case *Call, *FunctionCall, *Exists:
		p.expr(e)
	default:
		p.text("(")
		p.expr(e)
		p.text(")")
	}
}

func (p exprPrinter) expr(e Expr) {
	// Operands are in parentheses only if their rank needs them, so a text parses to the
	// same tree.
	switch e := e.(type) {
	case *Var:
		p.text("?", e.Name)
	case *Constant:
		p.term(e.Term)
	case *Unary:
		p.text(e.Op.String())
		if e.Op != OpNot {
			p.text(" ") // -1 is a literal
		}
		p.operand(e.Arg, rankPrimary)
	case *Binary:
		// Operators group to the left. Relations do not chain, so both sides must be of a
		// higher rank.
		rank := rankOf(e)
		left := rank
		if rank == rankRelation {
			left++
		}
		p.operand(e.Left, left)
		p.text(" ", e.Op.String(), " ")
		p.operand(e.Right, rank+1)
	case *In:
		p.operand(e.Arg, rankRelation+1)
		if e.Not {
			p.text(" NOT")
		}
		p.text(" IN ")
		p.list(e.List)
	case *Call:
		p.text(e.Func.String())
		p.list(e.Args)
	case *FunctionCall:
		p.iri(e.IRI)
		if e.Distinct {
			p.text("(DISTINCT ")
			p.items(e.Args)
			p.text(")")
		} else {
			p.list(e.Args)
		}
	case *Exists:
		if e.Not {
			p.text("NOT ")
		}
		p.text("EXISTS ")
		if e.Index != Unnumbered {
			p.text("#", strconv.Itoa(e.Index)) // translated: not to be parsed again
		} else {
			p.queries().group(e.Group)
		}
	case *Aggregate:
		p.aggregate(e)
	}
}

func (p exprPrinter) list(list []Expr) {
	p.text("(")
	p.items(list)
	p.text(")")
}

func (p exprPrinter) items(list []Expr) {
	for i, e := range list {
		if i > 0 {
			p.text(", ")
		}
		p.expr(e)
	}
}

func (p exprPrinter) aggregate(a *Aggregate) {
	p.text(a.Func.String(), "(")
	if a.Distinct {
		p.text("DISTINCT ")
	}
	if a.Arg == nil {
		p.text("*")
	} else {
		p.expr(a.Arg)
	}
	if a.Func == AggGroupConcat && a.Separator != " " {
		p.text("; SEPARATOR = ")
		p.string(a.Separator)
	}
	p.text(")")
}

// Ranks of paths.
const (
	pathAlternative = iota + 1
	pathSequence
	pathInverse
	pathRepeat
	pathPrimary
)

// path writes a path, in parentheses if its rank is less than required.
func (p exprPrinter) path(path Path, rank int) {
	// 1. A path in a tighter one needs parentheses.
	var own int
	switch path.(type) {
	case *PathAlternative:
		own = pathAlternative
	case *PathSequence:
		own = pathSequence
	case *PathInverse:
		own = pathInverse
	case *PathRepeat:
		own = pathRepeat
	default:
		own = pathPrimary
	}
	if own < rank {
		p.text("(")
		defer p.text(")")
	}
	// 2. Its parts must be of the next rank at least.
	switch path := path.(type) {
	case *PathAlternative:
		p.parts(path.Parts, " | ", pathSequence)
	case *PathSequence:
		p.parts(path.Parts, "/", pathInverse)
	case *PathInverse:
		p.text("^")
		p.path(path.Arg, pathRepeat)
	case *PathRepeat:
		p.path(path.Arg, pathPrimary)
		p.text(path.Sign())
	case *PathNegated:
		p.negated(path)
	case *PathIRI:
		p.queries().predicate(path.IRI)
	}
}

func (p exprPrinter) parts(parts []Path, between string, rank int) {
	for i, part := range parts {
		if i > 0 {
			p.text(between)
		}
		p.path(part, rank)
	}
}

func (p exprPrinter) negated(path *PathNegated) {
	p.text("!(")
	for i, member := range path.Set {
		if i > 0 {
			p.text(" | ")
		}
		if member.Inverse {
			p.text("^")
		}
		p.queries().predicate(member.IRI)
	}
	p.text(")")
}

// Sign returns "?", "*" or "+".
func (r *PathRepeat) Sign() string {
	switch {
	case r.Once:
		return "?"
	case r.Min == 0:
		return "*"
	}
	return "+"
}
