// Reloads of tokens, certificates and JSON-LD contexts while a node serves.

package node

import (
	"bytes"
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/server"
)

// Tokens are the secrets of clients, the users, and the keys of their issuer. [ServeOptions] describes them.
type Tokens = server.Tokens

// reload applies new tokens, certificates and JSON-LD contexts until the context ends. If some cannot be used, those
// before still count.
func (s *service) reload(ctx context.Context, api *server.API, back backend) {
	for {
		tokens, err := s.Reload(ctx)
		if ctx.Err() != nil {
			return
		}
		if err := back.contexts.Reload(); err != nil {
			s.Logger.Error("the new JSON-LD contexts cannot be used, those read before still are", "error", err)
		}
		if err == nil {
			err = s.setTokens(tokens, api, back)
		}
		if err != nil {
			s.Logger.Error("the new tokens cannot be used, those read before still are", "error", err)
		} else {
			s.Logger.Info("the tokens were read again")
		}
		if err := api.ReopenAudit(); err != nil {
			s.Logger.Error("the audit log cannot be opened again, the file before is still used", "error", err)
		}
		if err := back.port.ReadCertificates(); err != nil {
			s.Logger.Error("the new certificates cannot be used, those read before still are", "error", err)
		}
	}
}

// setTokens replaces the tokens of the endpoints. The secret that members prove to each other stays. If
// the new tokens would change it, a member of a cluster rejects them.
func (s *service) setTokens(t Tokens, api *server.API, back backend) error {
	o := s.ServeOptions
	o.setTokens(t)
	if err := o.Validate(); err != nil {
		return err
	}
	secret, err := o.secret()
	if err != nil {
		return err
	}
	changed := !bytes.Equal(secret, s.secret)
	if changed && back.cluster != nil && !back.cluster.IsAlone() {
		return errors.New("the members of the cluster know each other by this token: " +
			"change it on all of them and start them again, or use certificates")
	}
	if err := api.SetTokens(t); err != nil {
		return err
	}
	if changed {
		s.Logger.Warn("start this node again before others join it: it proves itself to them by the token that it began with")
	}
	s.ServeOptions.setTokens(t) // for the next run
	return nil
}

func (o *ServeOptions) setTokens(t Tokens) {
	o.Token, o.OperatorToken, o.Applications, o.Users = t.Token, t.OperatorToken, t.Applications, t.Users
	if o.OIDC.KeysURL == "" && !o.OIDC.IsZero() {
		o.OIDC.Keys = t.OIDCKeys
	}
}
