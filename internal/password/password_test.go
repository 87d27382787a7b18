// Tests of hashes.

package password

import (
	"strings"
	"testing"
)

// TestHash: a new hash is of its password only, and comes back from its text. Two hashes of one password
// differ.
func TestHash(t *testing.T) {
	h := New("secret")
	parsed, err := Parse(h.String())
	if err != nil || !parsed.Verify("secret") || parsed.Verify("Secret") || parsed.Verify("") {
		t.Errorf("%s: %v", h, err)
	}
	if New("secret").String() == h.String() {
		t.Error("two hashes have the same salt")
	}
}

// TestForeignHash: a hash of the reference implementation, from its test.c, is understood.
func TestForeignHash(t *testing.T) {
	h, err := Parse("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4")
	if err != nil || !h.Verify("password") || h.Verify("differentpassword") {
		t.Error(err)
	}
}

// TestBadHash: a malformed or too expensive hash is an error that names what is wrong.
func TestBadHash(t *testing.T) {
	const salt, sum = "c29tZXNhbHQ", "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for text, words := range map[string]string{
		"":                              "$argon2id$",
		"secret":                        "$argon2id$",
		"$2b$12$abcdefghijklmnopqrstuv": "$argon2id$",
		"$argon2i$v=19$m=256,t=2,p=1$" + salt + "$" + sum:              "$argon2id$",
		"$argon2id$v=16$m=256,t=2,p=1$" + salt + "$" + sum:             "version 16",
		"$argon2id$v=19$m=4194304,t=2,p=1$" + salt + "$" + sum:         "out of range",
		"$argon2id$v=19$m=256,t=99,p=1$" + salt + "$" + sum:            "out of range",
		"$argon2id$v=19$m=256,t=0,p=1$" + salt + "$" + sum:             "out of range",
		"$argon2id$v=19$m=256,t=1,p=0$" + salt + "$" + sum:             "out of range",
		"$argon2id$v=19$m=7,t=1,p=1$" + salt + "$" + sum:               "out of range",
		"$argon2id$v=19$m=256,t=2$" + salt + "$" + sum:                 "costs",
		"$argon2id$v=19$m=256,t=2,p=1,x=3$" + salt + "$" + sum:         "not written as",
		"$argon2id$v=19$m=256,t=2,p=1$!$" + sum:                        "salt",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$nf65":               "last part",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + sum + "$" + sum: "5 parts",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
}
