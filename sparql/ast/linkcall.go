// Functions of hyperlinks, written as predicates.

package ast

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// LinkNamespace begins the IRIs of the functions of hyperlinks. As a predicate of a pattern, an IRI
// with this beginning is always such a function.
const LinkNamespace = "urn:trefoil:links:"

// LinkFunction is a function of hyperlinks.
type LinkFunction uint8

// The functions.
const (
	LinkSALSA LinkFunction = iota
	LinkHITS
	LinkPageRank
	LinkDistance
	LinkSample
	LinkSampleBackward
	LinkOutDegree
	LinkInDegree
	LinkWeightedSALSA
	LinkWeightedHITS
)

// LinkFunctions returns the IRIs of all functions.
func LinkFunctions() (all []string) {
	for _, form := range linkForms {
		all = append(all, LinkNamespace+form.name)
	}
	return all
}

// LinkCall is a pattern page function arguments, such as (?page) links:salsa (?score).
type LinkCall struct {
	Pos      // of the function
	Function LinkFunction
	Page     Node // a variable or an IRI
	// Args fit the function: variables, an IRI or a variable for a page, integers.
	Args []Node
}

func (*LinkCall) pattern() {}

// linkArg is the kind of an argument.
type linkArg uint8

const (
	resultArg linkArg = iota // a variable for a score, a number or a distance
	pageArg                  // a variable or the IRI of a page
	numberArg
)

// linkForm is the name of a function and the form of its arguments.
type linkForm struct {
	name  string
	usage string
	args  []linkArg
	least int // of the arguments
	max   int // the greatest number
}

// maxAround is the greatest sample of links of one page, and maxSteps the greatest distance.
const (
	maxAround = 10_000
	maxSteps  = 100
)

var linkForms = [...]linkForm{
	LinkSALSA:          {"salsa", "(?page) links:salsa (?score), with numbers of sampled in-links and out-links behind the variable if wanted", []linkArg{resultArg, numberArg, numberArg}, 1, maxAround},
	LinkHITS:           {"hits", "(?page) links:hits (?authority ?hub), with numbers of sampled in-links and out-links behind the variables if wanted", []linkArg{resultArg, resultArg, numberArg, numberArg}, 2, maxAround},
	LinkPageRank:       {"pagerank", "?page links:pagerank ?score", []linkArg{resultArg}, 1, 0},
	LinkDistance:       {"distance", "?page links:distance (?other 3), with a variable for the distance behind the number if wanted", []linkArg{pageArg, numberArg, resultArg}, 2, maxSteps},
	LinkSample:         {"sample", "?page links:sample (?other 10)", []linkArg{pageArg, numberArg}, 2, maxAround},
	LinkSampleBackward: {"sampleBackward", "?page links:sampleBackward (?other 10)", []linkArg{pageArg, numberArg}, 2, maxAround},
	LinkOutDegree:      {"outDegree", "?page links:outDegree ?number", []linkArg{resultArg}, 1, 0},
	LinkInDegree:       {"inDegree", "?page links:inDegree ?number", []linkArg{resultArg}, 1, 0},
	LinkWeightedSALSA:  {"weightedSalsa", "(?page) links:weightedSalsa (?score), with numbers of sampled in-links and out-links behind the variable if wanted", []linkArg{resultArg, numberArg, numberArg}, 1, maxAround},
	LinkWeightedHITS:   {"weightedHits", "(?page) links:weightedHits (?authority ?hub), with numbers of sampled in-links and out-links behind the variables if wanted", []linkArg{resultArg, resultArg, numberArg, numberArg}, 2, maxAround},
}

// String returns the name of the function, with the usual prefix.
func (f LinkFunction) String() string { return "links:" + linkForms[f].name }

// IRI returns the IRI of the function.
func (f LinkFunction) IRI() string { return LinkNamespace + linkForms[f].name }

// Ranks reports whether the function ranks the solutions of its group.
func (f LinkFunction) Ranks() bool { return f == LinkSALSA || f == LinkWeightedSALSA || f.Hubs() }

// Hubs reports whether the function has a score as hub besides the one as authority.
func (f LinkFunction) Hubs() bool { return f == LinkHITS || f == LinkWeightedHITS }

// Weighted reports whether the weights of links count.
func (f LinkFunction) Weighted() bool { return f == LinkWeightedSALSA || f == LinkWeightedHITS }

// FindLinkFunction returns the function of an IRI. is is false if the IRI is not in [LinkNamespace]. The
// error lists the functions and the one with the most similar name.
func FindLinkFunction(iri string) (f LinkFunction, is bool, err error) {
	name, is := strings.CutPrefix(iri, LinkNamespace)
	if !is {
		return 0, false, nil
	}
	names := make([]string, len(linkForms))
	for i, form := range linkForms {
		if names[i] = form.name; form.name == name {
			return LinkFunction(i), true, nil
		}
	}
	hint := ""
	lower := strings.ToLower(name)
	nearest := slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(editDistance(lower, strings.ToLower(a)), editDistance(lower, strings.ToLower(b)))
	})
	if editDistance(lower, strings.ToLower(nearest)) <= len(nearest)/2 {
		hint = fmt.Sprintf("; did you mean %s?", nearest)
	}
	return 0, true, fmt.Errorf("there is no function <%s> of links%s The functions of %s are %s",
		iri, cmp.Or(hint, "."), LinkNamespace, strings.Join(names, ", "))
}

// editDistance returns how many bytes must be added, removed or replaced to make b of a. It needs
// len(a)*len(b) steps, so long texts count as different.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// NewLinkCall returns the call of a function by the lists before and behind it. An error says what is
// wrong and what is expected.
func NewLinkCall(pos Pos, f LinkFunction, pages, args []Node) (*LinkCall, error) {
	form := &linkForms[f]
	wrong := func(format string, parts ...any) error {
		return fmt.Errorf("%s %s; expected %s", f, fmt.Sprintf(format, parts...), form.usage)
	}
	if len(pages) != 1 {
		return nil, wrong("stands behind a list of %d", len(pages))
	}
	if !isPage(pages[0]) {
		return nil, wrong("stands behind a term that is neither a variable nor an IRI")
	}
	// 1. Check the arguments.
	if len(args) < form.least || len(args) > len(form.args) {
		return nil, wrong("has a list of %d behind it", len(args))
	}
	for i, arg := range args {
		switch form.args[i] {
		case resultArg:
			if !arg.IsVar() {
				return nil, wrong("has no variable as argument %d", i+1)
			}
		case pageArg:
			if !isPage(arg) {
				return nil, wrong("has neither a variable nor an IRI as argument %d", i+1)
			}
		default:
			if n, ok := linkNumber(arg); !ok || n > form.max {
				return nil, wrong("has no integer from 0 to %d as argument %d", form.max, i+1)
			}
		}
	}
	call := &LinkCall{Pos: pos, Function: f, Page: pages[0], Args: args}
	// 2. A ranking computes its results, so they must be other variables than the page.
	for i, arg := range args {
		if f.Ranks() && arg.IsVar() && (arg.Var == call.Page.Var || slices.ContainsFunc(args[:i], func(n Node) bool { return n.Var == arg.Var })) {
			return nil, wrong("has ?%s twice", arg.Var)
		}
	}
	return call, nil
}

func isPage(n Node) bool { return n.IsVar() || n.Term.Kind() == triple.IRI }

// linkNumber returns the value of an integer that is not negative.
func linkNumber(n Node) (int, bool) {
	if n.IsVar() || n.Term.Datatype() != triple.XSDInteger {
		return 0, false
	}
	value, err := strconv.ParseUint(n.Term.Value(), 10, 31)
	return int(value), err == nil
}

// Results returns the arguments that the function computes: variables, and pages.
func (c *LinkCall) Results() []Node {
	return slices.DeleteFunc(slices.Clone(c.Args), func(n Node) bool { _, ok := linkNumber(n); return ok })
}

// Numbers returns the integers among the arguments.
func (c *LinkCall) Numbers() []int {
	var numbers []int
	for _, arg := range c.Args {
		if n, ok := linkNumber(arg); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// SplitRanking splits the elements of a group at its rankings. before are the elements whose solutions
// are ranked: all that have no result of a ranking, and the filters over variables of these. If there
// are no rankings, all elements are behind.
func SplitRanking(elements []Pattern) (before []Pattern, rankings []*LinkCall, behind []Pattern) {
	results := map[string]bool{}
	for _, element := range elements {
		if call, ok := element.(*LinkCall); ok && call.Function.Ranks() {
			rankings = append(rankings, call)
			for _, n := range call.Results() {
				results[n.Var] = true
			}
		}
	}
	if len(rankings) == 0 {
		return nil, nil, elements
	}
	// 1. An element that mentions a result is behind, and so is all that mentions its variables.
	bound := map[string]bool{}
	for _, element := range elements {
		_, filter := element.(*Filter)
		if call, ok := element.(*LinkCall); filter || ok && call.Function.Ranks() {
			continue
		}
		if mentionsAny(element, results) {
			behind = append(behind, element)
			InScope(element, func(name string) {
				if !bound[name] {
					results[name] = true
				}
			})
			continue
		}
		before = append(before, element)
		InScope(element, func(name string) { bound[name] = true })
	}
	// 2. A filter is before if it has their variables only, because it then tests what is ranked.
	for _, element := range elements {
		filter, ok := element.(*Filter)
		if !ok {
			continue
		}
		unbound := AnyExpr(filter.Expr, func(e Expr) bool { v, ok := e.(*Var); return ok && !bound[v.Name] })
		if unbound || mentionsAny(element, results) {
			behind = append(behind, element)
		} else {
			before = append(before, element)
		}
	}
	return before, rankings, behind
}

// mentionsAny reports whether a pattern has one of some variables, in an expression too.
func mentionsAny(pattern Pattern, names map[string]bool) bool {
	b := newBinder(nil)
	b.countGroup(&Group{Elements: []Pattern{pattern}})
	for name := range names {
		if b.uses[name] || b.assigns[name] {
			return true
		}
	}
	return false
}
