package triple

import (
	"fmt"
	"strings"
)

// Order is one of the orders in which triples are kept; its value is the first
// byte of the keys of that order.
type Order uint8

// The orders. SPO, POS and OSP hold every triple, the graph last; GSPO holds the
// triples of named graphs only, the graph first.
const (
	SPO  Order = 1
	POS  Order = 2
	OSP  Order = 3
	GSPO Order = 4
)

// Orders lists all orders as they stand in the ordered space.
var Orders = [...]Order{SPO, POS, OSP, GSPO}

// Positions of a triple's terms, as [Order.Positions] gives them.
const (
	Subject = iota
	Predicate
	Object
	Graph
)

var positions = [...][4]int{
	SPO:  {Subject, Predicate, Object, Graph},
	POS:  {Predicate, Object, Subject, Graph},
	OSP:  {Object, Subject, Predicate, Graph},
	GSPO: {Graph, Subject, Predicate, Object},
}

// Positions returns which term of a triple stands at each place of a key.
func (o Order) Positions() [4]int { return positions[o] }

// Valid reports whether o is one of [Orders].
func (o Order) Valid() bool { return o >= SPO && o <= GSPO }

// String returns "spo", "pos", "osp" or "gspo".
func (o Order) String() string {
	switch o {
	case SPO:
		return "spo"
	case POS:
		return "pos"
	case OSP:
		return "osp"
	case GSPO:
		return "gspo"
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// ParseOrder reads an order's name in either case.
func ParseOrder(name string) (Order, error) {
	for _, o := range Orders {
		if strings.EqualFold(name, o.String()) {
			return o, nil
		}
	}
	return 0, fmt.Errorf("unknown order %q: it is spo, pos, osp or gspo", name)
}

// term returns the triple's term at a position.
func (t *Triple) term(position int) *Term {
	switch position {
	case Subject:
		return &t.Subject
	case Predicate:
		return &t.Predicate
	case Object:
		return &t.Object
	}
	return &t.Graph
}
