// Package optimize rewrites the algebra of a query: each pass returns a tree of the same meaning that leaves a plan more
// choice, or less to do. A pass is a function of a node, in a file of its name, with cases in testdata: a query, its
// tree before and its tree after.
//
//	Body:  for each node from the root on, and in each EXISTS
//	         exists    FILTER(EXISTS ...)      -> SemiJoin, which tests many rows at once
//	         counts    COUNT over UNION        -> SUM of the COUNTs of its branches
//	                   DISTINCT in aggregates  -> a Group that needs each row once
//	                   a Group that counts,    -> Tally, which may need no rows
//	                   DISTINCT of a variable
//	         offset    OFFSET over one pattern -> Seek, which begins behind skipped rows
//	         top       LIMIT over ORDER BY     -> Top, which keeps few rows
//
// [Unify] is a pass over the patterns of a join: it needs to know what the rows before them bind, so a plan calls it when
// it has these. [Variables] is what all passes, and plans, know of the variables of each node.
//
// Passes read the columns of a source, but no rows. What depends on estimates is a choice between plans, and belongs
// to package plan.
package optimize
