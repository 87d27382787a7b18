// The answer of /check.

package api

// CheckReport is the result of a check. If there is no problem, the store or cluster is in order.
type CheckReport struct {
	Rows        map[string]int64 `json:"rows"` // rows by order, without tombstones and annotations
	Triples     int64            `json:"triples"`
	Annotations int64            `json:"annotations"`
	Problems    []Problem        `json:"problems"`
	More        int64            `json:"more"` // problems beyond those listed
}

// Problem is one violation of an invariant.
type Problem struct {
	Machine string `json:"machine,omitempty"` // in a cluster, the machine with the problem
	Order   string `json:"order,omitempty"`   // the order with the problem
	Triple  string `json:"triple,omitempty"`  // N-Quads, if one triple is concerned
	Message string `json:"message"`
}
