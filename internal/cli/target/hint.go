// Hints for the errors of a server.

package target

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"

	"github.com/trefoildb/trefoil/client"
)

// Hint returns a hint for a server's error; "" if there is none.
func Hint(err error) string {
	var unknown x509.UnknownAuthorityError
	var request *url.Error // the end of a file is none of a connection
	var answer *client.Error
	switch remote := errors.As(err, &answer); {
	case errors.As(err, &unknown):
		return fmt.Sprintf("Give the certificate of its authority, ca.crt, with --ca F, or in $%s.", EnvCA)
	case errors.As(err, &request) && (errors.Is(request, io.EOF) || errors.Is(request, syscall.ECONNRESET)):
		return "The server hung up. If it speaks TLS, its address begins with https://."
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Sprintf("Give the server's token with --token-file F, or in $%s.", EnvToken)
	case errors.Is(err, client.ErrUnknownOutcome):
		return "The change may be done, now or later. Read the data before you repeat it: if others change the same triples, repeating it could undo that."
	case errors.Is(err, client.ErrLost):
		return "All machines that held some of it died; trefoil cluster status names the ranges."
	case remote && errors.Is(err, client.ErrQueryTimeout):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-timeout."
	case remote && errors.Is(err, client.ErrQueryLimit):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-memory."
	}
	return ""
}
