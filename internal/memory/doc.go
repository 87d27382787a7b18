// Package memory divides the memory that a process may use.
//
// [Available] returns the memory: the machine's, or the least limit of its control groups. [Divide]
// gives each consumer of a server its share. All shares must be defined here, because their sum
// must not exceed the whole: if a process exceeds its group's limit, the kernel kills it.
package memory
