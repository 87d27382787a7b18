// Package endpoint defines what a family of endpoints is made of: a [Table] of paths with their
// methods and handlers, and the [Shared] state of all families.
//
// Package server routes a request to a [Handler]. The handler must not write anything before
// it returns an error.
package endpoint
