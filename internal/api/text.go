// The answers of /search and /text.

package api

// SearchHit is a literal that a search found.
type SearchHit struct {
	Score      float64  `json:"score"`
	Text       string   `json:"text,omitempty"` // "" if the answer is brief
	Lang       string   `json:"lang,omitempty"`
	Datatype   string   `json:"datatype,omitempty"` // if it is no string
	Predicates []string `json:"predicates"`
	// Snippet is a part of the text. The found words stand between U+27E6 and U+27E7.
	Snippet  string   `json:"snippet"`
	Subjects []string `json:"subjects,omitempty"` // in N-Triples
}

// SearchResult is the answer to a search, the best hits first.
type SearchResult struct {
	Hits []SearchHit `json:"hits"`
	More bool        `json:"more"`
}

// TextPredicate is the state of an indexed predicate on the server that answers. A user with some graphs only gets no
// counts: they are 0.
type TextPredicate struct {
	Predicate string `json:"predicate"`
	Documents int    `json:"documents"`
	Words     uint64 `json:"words"`
	Bytes     int64  `json:"bytes"`
	Segments  int    `json:"segments"`
	// Trigrams is set if filters of queries use the index, too. TrigramBytes is about the part of Bytes for them.
	Trigrams     bool  `json:"trigrams"`
	TrigramBytes int64 `json:"trigramBytes,omitempty"`
	// Complete is set if the machine has all of its partitions.
	Complete bool `json:"complete"`
}

// TextStatus is the state of the text index on the server that answers.
type TextStatus struct {
	Predicates []TextPredicate `json:"predicates"`
	// Problem is why the index is behind, if it is.
	Problem string `json:"problem,omitempty"`
}
