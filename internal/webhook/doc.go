// What a receiver of webhooks can rely on.

// Package webhook delivers messages to applications by HTTP POST.
//
//	message -> Sender.Send (one try: allowed host, signature, time limit) -> nil or an error
//	                                       |
//	              Policy.Next (when to try again, or when to give up)
//
// # Requests
//
// A request is signed as https://www.standardwebhooks.com defines it. Its headers are
//
//	webhook-id         identifies the message; each try has the same
//	webhook-timestamp  the time of this try, in seconds since 1970
//	webhook-signature  v1,BASE64 of HMAC-SHA256 of "ID.TIMESTAMP.BODY" under the secret
//
// The secret is shown to people as "whsec_" and base64. A receiver checks the signature, refuses
// timestamps that are minutes old, and answers any status of 200 to 299. Everything else is a
// failure, redirects too, because a redirect could lead anywhere. A message may arrive more than
// once.
//
// # Hosts
//
// Messages go to hosts that the operator allows (package outbound), by https. A host that the
// operator lists as "http://HOST" gets them by http.
package webhook
