// Package memory divides the memory that a process may use.
//
// [Available] says how much it is: the machine's, or what the least limit of its
// control groups leaves. [Divide] gives each consumer of a server its share. It is
// the one place where these shares are stated, because their sum is what must not
// exceed the whole: a process that passes its group's limit is killed.
package memory
