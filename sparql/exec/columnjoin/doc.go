// Package columnjoin has the operators over columns, which read no rows.
//
// A [Join] has a [Step] for each pattern: a key that is bound, and the values that its column has for it. Bindings are
// numbers of the columns' dictionary. [CountJoin] counts the rows of a join without them; [Terms], [CountKeys] and
// [NumberRow] answer from one column.
package columnjoin
