// The file of users, and hashes of passwords.

package serve

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# users\n[bob]\nhash = \"h\"\nroles = [\"write\"]\nwrite-graphs = [\"default\"]\n[\"a@b\"]\nhash = \"i\"\noidc = [\"c\"]\nroles = [\"read\", \"load\"]\n")
	got, err := readUsers(file)
	want := []node.User{{Name: "a@b", Hash: "i", OIDC: []string{"c"}, Roles: []string{"read", "load"}}, {Name: "bob", Hash: "h", Roles: []string{"write"}, WriteGraphs: []string{"default"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, words := range map[string]string{
		"":                                    "has no users",
		"[a]\npassword = \"x\"":               "unknown key a.password",
		"[a]\nread-graphs = []":               "read-graphs of a is empty",
		"[a]\nhash = \"x\"\n[a]":              "a",
		"hash = \"x\"":                        "users.toml",
		"[a]\nhash = \"x\nroles = [\"read\"]": "line 2",
	} {
		write(text)
		if _, err := readUsers(file); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
	if _, err := readUsers(file + "?"); err == nil {
		t.Error("a missing file is read")
	}
}

// TestUsersHash: the printed hash is of the first line, without its end.
func TestUsersHash(t *testing.T) {
	for input, want := range map[string]string{"secret word\n": "secret word", "secret\r\nmore": "secret", "s": "s", "": "", strings.Repeat("x", password.MaxBytes+1): ""} {
		var out strings.Builder
		err := (&usersHashCmd{}).Run(&console.Env{Stdin: strings.NewReader(input), Stdout: &out})
		if want == "" {
			if err == nil {
				t.Errorf("%.10q is accepted", input)
			}
			continue
		}
		hash, parseErr := password.Parse(strings.TrimSuffix(out.String(), "\n"))
		if err != nil || parseErr != nil || !hash.Verify(want) {
			t.Errorf("%q: %s %v %v", input, out.String(), err, parseErr)
		}
	}
}
