// The orders SPO, POS, OSP and GSPO.

package triple

import (
	"fmt"
	"strings"
)

// Order is one of the orders of triples. Its value is the first byte of the keys of that order.
type Order uint8

// The orders. SPO, POS and OSP hold every triple, with the graph last. GSPO holds only triples of
// named graphs, with the graph first.
const (
	SPO  Order = 1
	POS  Order = 2
	OSP  Order = 3
	GSPO Order = 4
)

// Orders lists all orders in the sequence of the ordered space.
var Orders = [...]Order{SPO, POS, OSP, GSPO}

// Positions of a triple's terms, as in [Order.Positions].
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

// Positions returns the position of the term at each place of a key.
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

// ParseOrder returns the order with this name, in letters of either case.
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
