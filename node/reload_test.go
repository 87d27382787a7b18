// Tests of reloads: which tokens a node accepts.

package node

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// member is a cluster that the node is in, or is not.
type member struct {
	server.Cluster
	alone bool
}

func (m member) IsAlone() bool { return m.alone }

// TestReloadSecret: members that know each other by a token reject another one. A lone node takes it,
// with a warning. The clients' token alone may always change if operators have one.
func TestReloadSecret(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer db.Close()
	reader := User{Name: "x", Hash: password.New("secret").String(), Roles: []string{"read"}}
	for _, c := range []struct {
		name         string
		before       ServeOptions
		after        Tokens
		alone        bool
		fails, warns bool
	}{
		{"member", ServeOptions{Token: "a"}, Tokens{Token: "b"}, false, true, false},
		{"member with operators", ServeOptions{Token: "a", OperatorToken: "o"}, Tokens{Token: "b", OperatorToken: "o"}, false, false, false},
		{"member with new operators", ServeOptions{Token: "a", OperatorToken: "o"}, Tokens{Token: "a", OperatorToken: "p"}, false, true, false},
		{"alone", ServeOptions{Token: "a"}, Tokens{Token: "b"}, true, false, true},
		{"the same", ServeOptions{Token: "a"}, Tokens{Token: "a"}, false, false, false},
		{"bad applications", ServeOptions{Token: "a"}, Tokens{Token: "a", Applications: []Application{{ID: "x", Token: "a"}}}, true, true, false},
		{"bad users", ServeOptions{Token: "a"}, Tokens{Token: "a", Users: []User{{Name: "x"}}}, true, true, false},
		{"users of a member", ServeOptions{Token: "a"}, Tokens{Token: "a", Users: []User{reader}}, false, false, false},
		{"exposed with users", ServeOptions{Token: "a", Listen: "0.0.0.0:0"}, Tokens{Users: []User{reader}}, true, false, true},
		{"exposed", ServeOptions{Token: "a", Listen: "0.0.0.0:0"}, Tokens{}, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			o := c.before
			o.Logger = logs.New(&log, false, slog.LevelInfo)
			o = o.withDefaults()
			secret, err := o.secret()
			require.NoError(t, err)
			s := &service{ServeOptions: o, secret: secret}
			api, err := server.New(db, server.Options{Token: o.Token, OperatorToken: o.OperatorToken})
			require.NoError(t, err)
			err = s.setTokens(c.after, api, backend{cluster: member{alone: c.alone}})
			if (err != nil) != c.fails || strings.Contains(log.String(), "start this node again") != c.warns {
				t.Errorf("error %v, logged %q", err, log.String())
			}
			if !c.fails && len(s.Users) != len(c.after.Users) {
				t.Errorf("the next run has %d users, want %d", len(s.Users), len(c.after.Users))
			}
			if want := map[bool]string{true: o.Token, false: c.after.Token}[c.fails]; s.Token != want {
				t.Errorf("the token of the next run is %q, want %q", s.Token, want)
			}
		})
	}
}
