// The answer of /prefixes.

package api

// PrefixList is names such as "ex", without ':', and the IRIs that they stand for.
type PrefixList struct {
	// Kept are those of the store, by documents and by people.
	Kept map[string]string `json:"prefixes"`
	// WellKnown are others, which every store has: rdf, foaf and the like.
	WellKnown map[string]string `json:"wellKnown"`
}
