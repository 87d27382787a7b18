// The variables in scope of a pattern (section 18.2.1).

package ast

// InScope calls visit with the name of every variable in scope behind a pattern (section
// 18.2.1): in the order of the text, some more than once. A nil *[Group] has none.
func InScope(pattern Pattern, visit func(name string)) {
	// FILTER and MINUS bind nothing. A subquery has only its projected variables.
	switch p := pattern.(type) {
	case *Group:
		if p == nil {
			return
		}
		for _, element := range p.Elements {
			InScope(element, visit)
		}
	case *Triples:
		for _, t := range p.Patterns {
			t.Subject.EachVar(visit)
			t.Predicate.EachVar(visit)
			t.Object.EachVar(visit)
		}
	case *LinkCall:
		p.Page.EachVar(visit)
		for _, arg := range p.Args {
			arg.EachVar(visit)
		}
	case *TextCall:
		p.Literal.EachVar(visit)
		Node{Var: p.QueryVar}.EachVar(visit)
		for _, n := range p.Results() {
			n.EachVar(visit)
		}
	case *Union:
		for _, g := range p.Groups {
			InScope(g, visit)
		}
	case *Optional:
		InScope(p.Group, visit)
	case *Lateral:
		InScope(p.Group, visit)
	case *Graph:
		p.Name.EachVar(visit)
		InScope(p.Group, visit)
	case *Service:
		p.Name.EachVar(visit)
		InScope(p.Group, visit)
	case *Bind:
		p.Var.EachVar(visit)
	case *Values:
		for _, v := range p.Vars {
			v.EachVar(visit)
		}
	case *SubSelect:
		p.Query.projected(visit)
	}
}

// Assigned calls visit with every variable in scope behind a pattern that AS or VALUES sets in it.
func Assigned(pattern Pattern, visit func(v Node)) {
	switch p := pattern.(type) {
	case *Bind:
		visit(p.Var)
	case *Values:
		for _, v := range p.Vars {
			visit(v)
		}
	case *SubSelect:
		p.Query.assigned(visit)
	case *Group:
		for _, element := range p.Elements {
			Assigned(element, visit)
		}
	case *Service, *Minus: // of another endpoint, or not in scope
	default:
		for _, g := range groupsOf(pattern) {
			Assigned(g, visit)
		}
	}
}

// assigned is Assigned for a subquery: it must project the variables.
func (q *Query) assigned(visit func(v Node)) {
	projected := map[string]bool{}
	q.projected(func(name string) { projected[name] = true })
	inner := func(v Node) {
		if projected[v.Var] {
			visit(v)
		}
	}
	for _, item := range q.Items {
		if item.Expr != nil {
			visit(item.Var)
		}
	}
	for _, key := range q.GroupBy {
		inner(key.Var)
	}
	if q.Where != nil {
		Assigned(q.Where, inner)
	}
	if q.Values != nil {
		Assigned(q.Values, inner)
	}
}

func (q *Query) projected(visit func(name string)) {
	if q.Star {
		InScope(q.Where, visit)
		if q.Values != nil {
			InScope(q.Values, visit)
		}
		return
	}
	for _, item := range q.Items {
		item.Var.EachVar(visit)
	}
}

// Projected returns the variables of a SELECT's or DESCRIBE's result, each once, in the order
// of the text. SELECT * has those in scope, and of the VALUES behind the modifiers.
func (q *Query) Projected() []string {
	var names []string
	seen := map[string]bool{}
	visit := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if q.Form == Describe && !q.Star {
		for _, n := range q.Describe {
			n.EachVar(visit)
		}
	} else {
		q.projected(visit)
	}
	return names
}
