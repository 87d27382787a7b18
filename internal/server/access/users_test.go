// Tests of users: their checks, and the bounds of their passwords.

package access

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// cheap is a hash of "password" that costs little.
const cheap = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"

// TestBadUsers: what contradicts itself is an error that names it.
func TestBadUsers(t *testing.T) {
	for words, u := range map[string]User{
		"a name has":              {Name: "a:b", Hash: cheap, Roles: []string{"read"}},
		"trefoil users hash":      {Name: "a", Hash: "password", Roles: []string{"read"}},
		"no roles":                {Name: "a", Hash: cheap},
		`unknown role "operator"`: {Name: "a", Hash: cheap, Roles: []string{"read", "operator"}},
		`unknown role "open"`:     {Name: "a", Hash: cheap, Roles: []string{"open"}},
		"role load or admin":      {Name: "a", Hash: cheap, Roles: []string{"write", "load"}, WriteGraphs: []string{"default"}},
		"all graphs":              {Name: "a", Hash: cheap, Roles: []string{"admin"}, ReadGraphs: []string{"default"}},
		"if and only if":          {Name: "a", Hash: cheap, Roles: []string{"write"}, ReadGraphs: []string{"default"}},
		"has the role write":      {Name: "a", Hash: cheap, Roles: []string{"read"}, WriteGraphs: []string{"default"}},
		"absolute IRI":            {Name: "a", Hash: cheap, Roles: []string{"read"}, ReadGraphs: []string{"g"}},
		"urn:trefoil:system":      {Name: "a", Hash: cheap, Roles: []string{"read"}, ReadGraphs: []string{"urn:trefoil:system"}},
	} {
		if _, err := NewUsers([]User{u}, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", u, err, words)
		}
	}
	one := User{Name: "a", Hash: cheap, Roles: []string{"read"}}
	if _, err := NewUsers([]User{one, one}, nil); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

// TestVerifyBounds: a password that was right costs no hash. Others wait for their turn, and too many are busy.
func TestVerifyBounds(t *testing.T) {
	ctx := t.Context()
	u, err := NewUsers([]User{{Name: "a", Hash: cheap, Roles: []string{"read"}}, {Name: "b", Hash: cheap, Roles: []string{"read"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if one, err := u.verify(ctx, "a", "password"); err != nil || one == nil || one.name != "a" {
		t.Fatal(one, err)
	}
	// 1. No hash can be computed now.
	for range cap(u.slots) {
		u.slots <- struct{}{}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if one, err := u.verify(ended, "a", "password"); err != nil || one == nil {
		t.Error("a password that was right is hashed again", err)
	}
	for _, name := range []string{"b", "c"} { // the sum of a password is of its user only
		if one, err := u.verify(ended, name, "password"); err == nil || one != nil {
			t.Error(name, one, err)
		}
	}
	if one, err := u.verify(ctx, "a", strings.Repeat("x", 2000)); err != nil || one != nil {
		t.Error("a long password waits", err)
	}
	u.waiting.Store(maxWaiting)
	if _, err := u.verify(ctx, "b", "password"); err == nil || problem.As(err).Kind != problem.KindBusy {
		t.Error(err)
	}
	if n := u.waiting.Load(); n != maxWaiting {
		t.Errorf("%d wait", n)
	}
	// 2. The memory of right passwords is bounded.
	for i := range 2 * maxVerified {
		var sum tokenSum
		binary.BigEndian.PutUint64(sum[:], uint64(i))
		u.remember(sum)
	}
	if len(u.verified) > maxVerified {
		t.Errorf("%d are remembered", len(u.verified))
	}
}
