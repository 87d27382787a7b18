// How requests to other servers are guarded.

// Package outbound guards requests that clients cause to other servers: those of SERVICE, LOAD and
// contexts of JSON-LD, and webhooks. A client names a URL, the operator names allowed hosts
// ([ParseHosts]), and both a request's URL ([Hosts.Check]) and each dialled address
// ([Hosts.Transport]) must be allowed. [Client] sends requests within limits.
package outbound
