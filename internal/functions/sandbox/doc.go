// The interface between trefoil and its update functions.

// Package sandbox runs update functions: WebAssembly modules that get a change and return triples. A
// function depends on its input only: it has no clock, network, files, randomness or memory.
//
//	module -> check.go (structure, sizes) -> runtime.go (compiled once)
//	change, arguments -> input.go -> call.go (on an instance) -> output.go -> effects
//
// # The interface
//
// A module imports nothing, and exports
//
//	memory                                            its linear memory
//	trefoil_input (param $size i32) (result i32)      returns where $size bytes of input go
//	trefoil_run (param $at $size i32) (result i64)    returns where the output is: the address in
//	                                                  the upper 32 bits, the size in the lower
//	_initialize (optional)                            runs before the others
//
// Input and output are lines of JSON. Terms are as in the HTTP API: RDF terms of SPARQL 1.1 Query
// Results JSON. The order of the members is fixed and there are no spaces, so that a module may
// search for a member instead of parsing. The first line is the change. Each further line is one
// argument triple, with its location before it:
//
//	{"kind":"add","s":S,"p":P,"o":O,"g":G,"app":A,"data":D,"epoch":1,"sequence":7,
//	 "sequencer":"00..01","position":"...","machine":"00..01","segment":"..."}
//	{"machine":"00..01","segment":"...","s":S,"p":P,"o":O,"g":G}
//
// kind is add, delete or annotate. g is missing in the default graph. app and data (base64, or
// "removed":true) belong to an annotation. What is not known is missing: before the commit there is
// no epoch, sequence, sequencer and position. The members of the change are those of the change
// feed, without the time.
//
// Each line of the output is one effect, or a rejection:
//
//	{"op":"add","s":S,"p":P,"o":O,"g":G}
//	{"op":"delete","s":S,"p":P,"o":O}
//	{"op":"annotate","s":S,"p":P,"o":O,"app":A,"data":D}    or "removed":true
//	{"op":"reject","reason":"..."}
//
// A rejection is the only line. No output means that nothing is to do.
//
// # Limits
//
// [Limits] bounds the time, memory, arguments, results and output of a call, and the number of calls
// at a time. The stack of nested functions is outside of the memory, and bounded by code that is added
// to the module (stack.go). No state passes from one call to the next: the memory and the mutable globals of an
// instance are restored behind each call. An instance is not used again if its state cannot be
// restored, because the module has a table or passive data, the memory has grown, or the call
// failed. Those of modules that begin with more than 2 MiB of memory are never used again, because
// idle instances would hold it. A trivial call takes 4 µs, and 65 µs with a new instance (BenchmarkCall, 2 cores, others
// running).
//
// Modules may use WebAssembly 2.0 without vectors and reference types. The structure of a module is
// checked before it is compiled, because the compiler allocates what a module's counts say.
package sandbox
