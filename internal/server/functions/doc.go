// The endpoints of update functions.

// Package functions has the endpoints below /functions: it registers, shows and deletes update
// functions. The parameters of a request become a [functions.Registration], its body is the module.
package functions
