// Package blocking has the operators that hold rows until others have come: ORDER BY, GROUP BY, DISTINCT, hash joins.
//
// What they hold counts for the query. If its memory does not suffice, they go on in temporary files (package spill).
package blocking
