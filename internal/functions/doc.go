// The argument for exactly-once effects.

// Package functions runs update functions: WebAssembly modules that the operator attaches to a
// pattern of triples. A function gets a change and other triples, and returns triples to add, delete
// or annotate. A check runs before the commit and may reject the change.
//
//	registration -> annotation of a triple in the system graph -> every member, by its revision
//	change -> Service.Checked -> checks -> store -> feed -> runner -> sandbox -> intent -> store
//
// [Service] owns all of it. sandbox has the interface of modules.
//
// # Who runs a function
//
// The owner of the function's triple runs it, with one [runner]. Members look at the view, so for a
// moment there may be two runners or none. Nothing below depends on there being one. A function runs
// in one place, and not at each sequencer of matching triples: its calls then have one order, its
// state is one annotation, and a call sees the effects of all calls before. The price is that one
// member does all calls of a function. Different functions run on different members.
//
// # Exactly once
//
// A function's [State] has a position P of the feed, and at most one [Intent]: effects that are
// decided and may not be written yet. It changes by compare-and-set only. A runner repeats:
//
//  1. Call the function for the changes behind P, in the order of the feed. Its arguments are read
//     from the store and from the effects pending in this round.
//  2. Write the state {P', intent with the net effects and a random ID}.
//  3. Write the effects. The token of each is a hash of the intent's ID, the kind and the triple.
//  4. Forget the intent. The next state is written without it.
//
// A call's effects become durable with step 2, together with the position behind its change. So
// after a crash before step 2 the call is made again, and nothing of the first one exists. After
// step 2 no runner calls the function for this change again: it finds the intent, and repeats step 3.
//
// A repeated step 3 changes nothing twice:
//
//   - The stores remember tokens for at least [store.TokenTime], 10 minutes, and refuse an operation
//     whose token they know. While an intent is younger than 4 minutes, that is enough, whichever
//     runners write it at the same time: all writes end 2 minutes after the read of the intent.
//   - An older intent is compared with the feed from the position Since, which was taken between the
//     reads that decided the effects and their writes. An operation whose triple has changed since
//     counts as done: if the change is the operation itself, it was done; if not, then one order of
//     the two exists in which the operation changes nothing, because only the first change of the
//     triple can tell whether it existed. All other operations have changed nothing so far, and are
//     written. Writes of other runners that are under way have tokens younger than 10 minutes.
//   - If the feed no longer reaches back to Since, nothing shows what was
//     written. The function stops and records that.
//
// A runner that stood still cannot write late. Its writes have a deadline, so it would have to stop
// between the check of the deadline and the write. A machine that stops for longer than the failure
// timeout is excluded, and messages of an older view are refused.
//
// The feed sends changes at least once. State counts the changes of an incomplete request behind P,
// and the names of bulk loads, so that none is processed twice.
//
// # Chains
//
// The tokens of effects have the depth of their call ([store.WithDepth]), and the feed reports it
// ([feed.Change.Depth]). A change of depth 8 calls no function. That ends loops of functions.
package functions
