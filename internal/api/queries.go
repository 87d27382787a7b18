// The answers of /queries.

package api

import "time"

// QueryInfo describes a query, an update or a stream of triples.
type QueryInfo struct {
	// ID is random: no other query of the cluster has it, nor one of an earlier process of the node. A stop that is
	// sent late or twice therefore stops no other query.
	ID   string `json:"id"`
	Kind string `json:"kind"` // query, update or read
	// Text is the query, the update, or the path and parameters of the read. A text of more than 1,000 bytes is cut
	// and ends with "...".
	Text string `json:"text"`
	// User is client, operator, application:ID or anonymous.
	User    string    `json:"user"`
	Request string    `json:"request"` // the ID of its request
	Start   time.Time `json:"start"`
	// Of the time of the list, or of the query's end.
	Milliseconds int64 `json:"milliseconds"`
	Rows         int64 `json:"rows"`   // sent; the changes of an update, when it ends
	Memory       int64 `json:"memory"` // bytes that it holds, or held last
}

// RunningQuery is a query with the machine at which it runs.
type RunningQuery struct {
	QueryInfo
	MemberName
}

// SlowQuery is a query that took as long as the node's limit, or longer, with the machine at which it ran.
type SlowQuery struct {
	QueryInfo
	Bytes  int64 `json:"bytes"`  // of the answer as sent
	Status int   `json:"status"` // of HTTP
	MemberName
}

// QueryList is the queries of the members of a cluster, or of a node alone.
type QueryList struct {
	Running []RunningQuery `json:"running"` // the oldest first
	Slow    []SlowQuery    `json:"slow"`    // the last 100, the latest first
	// Absent are the members that did not answer. Their queries are missing in the lists.
	Absent []AbsentMember `json:"absent,omitempty"`
}

// MemberName names a member in an answer. A form that embeds it has its fields at that place.
type MemberName struct {
	Machine string `json:"machine,omitempty"` // its ID; "" if its store is read-only and alone
	Node    string `json:"node,omitempty"`    // its address
}

// AbsentMember is a member of which an answer has nothing.
type AbsentMember struct {
	MemberName
	Error string `json:"error"` // why it did not answer
}
