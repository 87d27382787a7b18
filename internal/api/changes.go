// The answers to changes of triples.

package api

// AddResult counts the triples of an Add: the new ones, and those that the store had.
type AddResult struct {
	Added    int64 `json:"added"`
	Existing int64 `json:"existing"`
}

// DeleteResult counts the triples of a delete: the deleted ones, and those that the store did not
// have.
type DeleteResult struct {
	Deleted int64 `json:"deleted"`
	Missing int64 `json:"missing"`
}

// UpdateResult is the result of a SPARQL update.
type UpdateResult struct {
	Added   int64 `json:"added"`   // triples that did not exist
	Deleted int64 `json:"deleted"` // triples that existed
	// Isolation is that of the update, "snapshot" or "triple"; see docs/GUARANTEES.md. It is "" if
	// Repeated is set.
	Isolation string `json:"isolation"`
	// Repeated is set if an earlier try did the update. The counts are then unknown.
	Repeated bool `json:"repeated,omitempty"`
}

// Reject is a statement that a load left out.
type Reject struct {
	Where     string `json:"where"` // body:line:column
	Message   string `json:"message"`
	Statement string `json:"statement"`
}
