// A part of a plan that has no nodes below it: leaves, and what runs between the arguments of a join.

package plan

// part makes the operators of a leaf, or of one join, at a place in the plan.
type part struct {
	*query
	estimator *estimator
	at        scope
	want      request
}
