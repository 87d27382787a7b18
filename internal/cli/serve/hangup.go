// SIGHUP at a server.

package serve

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/node"
)

// onHangup decides what SIGHUP does. If the server has files with tokens, users, keys, certificates or contexts, or an audit log, reload waits
// for the signal and reads the tokens. Otherwise reload is nil and the signal ends the context, unless
// it is ignored, as nohup has it. stop ends all of that.
func (c *serveFlags) onHangup(parent context.Context) (ctx context.Context, reload func(context.Context) (node.Tokens, error), stop func()) {
	if c.TokenFile == "" && c.OperatorTokenFile == "" && c.ApplicationTokensFile == "" && c.Users == "" && !isFile(c.OIDCJWKS) && c.AuditLog == "" && c.Cert == "" && c.JSONLDContexts == "" {
		if signal.Ignored(syscall.SIGHUP) {
			return parent, nil, func() {}
		}
		ctx, stop = signal.NotifyContext(parent, syscall.SIGHUP)
		return ctx, nil, stop
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return parent, func(ctx context.Context) (node.Tokens, error) {
		select {
		case <-ctx.Done():
			return node.Tokens{}, ctx.Err()
		case <-hangups:
			return c.tokens()
		}
	}, func() { signal.Stop(hangups) }
}

// tokens reads the files with tokens, users and keys.
func (c *serveFlags) tokens() (t node.Tokens, err error) {
	// 1. All files are optional.
	if c.TokenFile != "" {
		if t.Token, err = target.ReadToken(c.TokenFile); err != nil {
			return t, err
		}
	}
	if c.OperatorTokenFile != "" {
		if t.OperatorToken, err = target.ReadToken(c.OperatorTokenFile); err != nil {
			return t, err
		}
	}
	if c.ApplicationTokensFile != "" {
		if t.Applications, err = readApplications(c.ApplicationTokensFile); err != nil {
			return t, err
		}
	}
	// 2. The users, and the keys that sign their tokens.
	if c.Users != "" {
		if t.Users, err = readUsers(c.Users); err != nil {
			return t, err
		}
	}
	if isFile(c.OIDCJWKS) {
		if t.OIDCKeys, err = os.ReadFile(c.OIDCJWKS); err != nil {
			return t, fmt.Errorf("--oidc-jwks: %w", err)
		}
	}
	return t, nil
}
