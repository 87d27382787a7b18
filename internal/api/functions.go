// Parts of the answers of /functions.

package api

import "time"

// FunctionCounts count since a function was registered first. Calls are counted again if they are repeated. Those of a
// check are of the node that answers.
type FunctionCounts struct {
	Calls    int64 `json:"calls"`
	Effects  int64 `json:"effects"`  // operations in intents
	Failures int64 `json:"failures"` // tries that failed
	Skipped  int64 `json:"skipped"`  // changes given up
	Rejected int64 `json:"rejected"` // changes that a check has rejected
}

// FunctionFailure is the last error of a function.
type FunctionFailure struct {
	Time    time.Time `json:"time"`
	Message string    `json:"message"`
	Change  string    `json:"change,omitempty"` // kind and triple
}
