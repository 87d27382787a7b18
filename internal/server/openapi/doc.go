// Package openapi describes the endpoints as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1).
//
// [New] joins two sources. The table of endpoints gives paths, methods, parameters, and which requests
// take a body or need a token: it is what the server obeys, so these cannot differ from it. The
// package has by hand what that table lacks: summaries and media types in operations.go, meanings of
// parameters in parameters.go, and the schemas of JSON in schemas.json. Package server
// tests that each route has a description and each description a route, and the schemas against answers.
package openapi
