// The text of an algebra, one operator a line.

package algebra

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// String returns the tree, an operator a line and its operands beneath it, and
// then the patterns of EXISTS by their numbers.
func (b *Body) String() string {
	p := treePrinter{scope: b.Scope}
	p.node(b.Root)
	for i, x := range b.Exists {
		line := fmt.Sprintf("exists #%d", i)
		for _, one := range x.Copies {
			line += fmt.Sprintf(" %s = %s", p.scope.text(one.To), p.scope.text(one.From))
		}
		p.line("%s", line)
		p.depth++
		p.node(x.Pattern)
		p.depth--
	}
	return p.out.String()
}

// Line returns an operator in one line, without its operands. A BGP's patterns
// are parted by " . ".
func (s *Scope) Line(n Node) string {
	// 1. Patterns and leaves. Operands must not be a part of the line, because they have lines
	// of their own; only a BGP's patterns are.
	switch n := n.(type) {
	case *Unit:
		return "unit"
	case *BGP:
		patterns := make([]string, len(n.Patterns))
		for i, p := range n.Patterns {
			patterns[i] = s.Pattern(p)
		}
		return "bgp " + strings.Join(patterns, " . ")
	case *Path:
		return fmt.Sprintf("path %s %s %s", s.Text(n.Subject), ast.PathString(n.Path), s.Text(n.Object))
	case *Unfold:
		return s.Unfold(n)
	case *Join:
		return "join"
	case *LeftJoin:
		return strings.TrimRight("left join "+conditions(n.Conds), " ")
	case *Filter:
		return "filter " + conditions(n.Conds)
	case *Union:
		return "union"
	case *Graph:
		return "graph " + s.Text(n.Name)
	case *Extend:
		return fmt.Sprintf("extend %s := %s", s.text(n.Slot), ast.ExprString(n.Expr))
	case *Minus:
		return "minus"
	case *Lateral:
		return "lateral"
	case *Table:
		return "table" + s.slots(n.Slots) + fmt.Sprintf(" rows=%d", len(n.Rows))
	case *Service:
		word := "service "
		if n.Silent {
			word = "service silent "
		}
		line := word + s.Text(n.Name)
		for _, column := range n.Columns {
			line += " ?" + column.Name
		}
		return line
	case *LinkJoin:
		return "links " + s.LinkCall(&n.LinkCall)
	case *TextJoin:
		return "text " + s.TextCall(n)
	case *LinkRank:
		return "link ranking " + s.LinkCall(&n.LinkCall)
	// 2. Grouping and the modifiers of solutions, in the order of section 18.2.
	case *Group:
		return s.groupLine(n)
	case *OrderBy:
		return "order " + sortKeys(n.Keys)
	case *Project:
		return "project" + s.slots(n.Slots)
	case *Distinct:
		return "distinct"
	case *Reduced:
		return "reduced"
	case *Slice:
		line := fmt.Sprintf("slice offset=%d", n.Offset)
		if n.Limit != ast.NoLimit {
			line += fmt.Sprintf(" limit=%d", n.Limit)
		}
		if n.Skipped > 0 {
			line += fmt.Sprintf(" skipped=%d", n.Skipped)
		}
		return line
	// 3. What only optimized trees have.
	case *SemiJoin:
		return "semi join " + conditions(Exprs(n))
	case *Tally:
		return s.tallyLine(n)
	case *Top:
		return fmt.Sprintf("top %d %s", n.Count, sortKeys(n.Keys))
	case *Seek:
		return fmt.Sprintf("seek %s from %x to %x", s.text(n.Slot), n.Lo, n.Hi)
	}
	return fmt.Sprintf("%T", n)
}

// sortKeys returns the keys of a sort.
func sortKeys(list []ast.OrderKey) string {
	keys := make([]string, len(list))
	for i, key := range list {
		keys[i] = "ASC(" + ast.ExprString(key.Expr) + ")"
		if key.Descending {
			keys[i] = "DESC(" + ast.ExprString(key.Expr) + ")"
		}
	}
	return strings.Join(keys, " ")
}

func (s *Scope) tallyLine(n *Tally) string {
	line := [...]string{TallyRows: "tally rows", TallyTerms: "tally terms", TallyEach: "tally each", TallyList: "tally list"}[n.Kind]
	if n.Kind != TallyRows {
		line += " " + s.text(n.Slot)
	}
	if len(n.Counts) > 0 {
		line += " into" + s.slots(n.Counts)
	}
	for _, slot := range n.Of {
		if slot >= 0 {
			line += " bound " + s.text(slot)
		}
	}
	if n.Pattern != nil {
		line += " of " + s.Pattern(*n.Pattern)
	}
	if len(n.Conds) > 0 {
		line += " if " + conditions(n.Conds)
	}
	return line
}

func (s *Scope) groupLine(g *Group) string {
	line := "group"
	for _, key := range g.Keys {
		line += " " + s.text(key.Slot)
		if v, ok := key.Expr.(*ast.Var); !ok || v.Slot != key.Slot {
			line += " := " + ast.ExprString(key.Expr)
		}
	}
	for i, a := range g.Aggregates {
		if i == 0 {
			line += " |"
		}
		line += " " + s.text(a.Slot) + " := " + ast.ExprString(a.Agg)
	}
	if g.DistinctBy != nil {
		line += " | distinct by" + s.slots(g.DistinctBy)
	}
	return line
}

// Text returns a place of a pattern as SPARQL writes it.
func (s *Scope) Text(v VarOrTerm) string {
	if v.IsVar() {
		return s.text(v.Slot)
	}
	return ast.TermString(v.Term)
}

// Pattern returns a triple pattern as SPARQL writes it, without the dot.
func (s *Scope) Pattern(p TriplePattern) string {
	predicate := s.Text(p.Predicate)
	if !p.Predicate.IsVar() && p.Predicate.Term == rdfType {
		predicate = "a"
	}
	return s.Text(p.Subject) + " " + predicate + " " + s.Text(p.Object)
}

// Unfold returns a triple term and its parts as SPARQL writes them.
func (s *Scope) Unfold(n *Unfold) string {
	return fmt.Sprintf("%s = <<( %s )>>", s.text(n.Slot), s.Pattern(TriplePattern{Subject: n.Subject, Predicate: n.Predicate, Object: n.Object}))
}

// LinkCall returns a call of a function of links as SPARQL writes it.
func (s *Scope) LinkCall(c *LinkCall) string {
	var args []string
	for _, at := range c.Results {
		args = append(args, s.Text(at))
	}
	before := len(args)
	if c.Function == ast.LinkDistance {
		before = 1
	}
	for _, n := range c.Numbers {
		args = slices.Insert(args, before, strconv.Itoa(n))
		before++
	}
	return fmt.Sprintf("%s %s (%s)", s.Text(c.Page), c.Function, strings.Join(args, " "))
}

// TextCall returns a search as SPARQL writes it, without its results.
func (s *Scope) TextCall(n *TextJoin) string {
	return fmt.Sprintf("%s text:matches %q", s.Text(n.Literal), n.Call.Query)
}

var rdfType = triple.NewIRI(triple.RDFType)

func (s *Scope) slots(slots []int) string {
	var b strings.Builder
	for _, slot := range slots {
		b.WriteByte(' ')
		b.WriteString(s.text(slot))
	}
	return b.String()
}

func conditions(conds []ast.Expr) string {
	texts := make([]string, len(conds))
	for i, e := range conds {
		texts[i] = "(" + ast.ExprString(e) + ")"
	}
	return strings.Join(texts, " ")
}

type treePrinter struct {
	scope *Scope
	out   strings.Builder
	depth int
}

func (p *treePrinter) line(format string, args ...any) {
	p.out.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
}

func (p *treePrinter) node(n Node) {
	inputs := Inputs(n)
	// 1. The operator. Patterns and rows get lines of their own, because there may be many.
	switch n := n.(type) {
	case *BGP:
		p.line("bgp")
		p.depth++
		for _, pattern := range n.Patterns {
			p.line("%s", p.scope.Pattern(pattern))
		}
		p.depth--
		return
	case *Table:
		p.line("%s", p.scope.Line(n))
		p.depth++
		for _, row := range n.Rows[:min(len(n.Rows), maxPrintedRows)] {
			texts := make([]string, len(row))
			for i, t := range row {
				texts[i] = ast.TermString(t)
			}
			p.line("(%s)", strings.Join(texts, " "))
		}
		if len(n.Rows) > maxPrintedRows {
			p.line("...")
		}
		p.depth--
		return
	default:
		p.line("%s", p.scope.Line(n))
	}
	p.depth++
	// 2. Its inputs, one level deeper.
	for _, input := range inputs {
		p.node(input)
	}
	p.depth--
}

// maxPrintedRows is how many rows of a table are printed.
const maxPrintedRows = 10
