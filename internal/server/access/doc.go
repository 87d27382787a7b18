// Package access decides who may read and change data: [Tokens] of clients and operators,
// origins of web pages ([CORS], [Changes]), and [Hosts], the names of this machine.
//
// A request must pass the Host header first, because a web page can point a name of its own at
// this machine. The origin is checked if the request changes data.
package access
