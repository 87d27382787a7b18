// Nodes of property paths.

package ast

// Path is a property path (section 9.1): one of *[PathIRI], *[PathInverse],
// *[PathSequence], *[PathAlternative], *[PathRepeat] and *[PathNegated].
type Path interface {
	Position() Pos
	path()
}

// PathIRI is a path of one predicate.
type PathIRI struct {
	Pos
	IRI string
}

// PathInverse is ^Arg: from object to subject.
type PathInverse struct {
	Pos
	Arg Path
}

// PathSequence is a path of two parts or more, one after the other.
type PathSequence struct {
	Pos
	Parts []Path
}

// PathAlternative is a choice of two paths or more.
type PathAlternative struct {
	Pos
	Parts []Path
}

// PathRepeat is Arg?, Arg* or Arg+: a connection by Min or more repetitions of
// Arg, at most one if Once is set. Such a path matches a pair of nodes once,
// however many ways there are.
type PathRepeat struct {
	Pos
	Arg  Path
	Min  int  // 0 or 1
	Once bool // Arg?; Min is 0
}

// PathNegated is a negated property set: any predicate but those of the set, in the direction
// of the set's members. !(a|^b) matches forwards all but a and backwards all but b. If a set
// has no members of one direction, it does not match in this direction, except the empty set
// !(): it matches all forwards.
type PathNegated struct {
	Pos
	Set []NegatedPredicate
}

// NegatedPredicate is a member of a negated property set.
type NegatedPredicate struct {
	IRI     string
	Inverse bool
}

func (*PathIRI) path()         {}
func (*PathInverse) path()     {}
func (*PathSequence) path()    {}
func (*PathAlternative) path() {}
func (*PathRepeat) path()      {}
func (*PathNegated) path()     {}
