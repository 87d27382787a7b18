// Tests of the file with the tokens of applications.

package serve

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/node"
)

func TestReadApplications(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# applications\n\nreviews secret%20\nurn:b%20c  t2  reviews *\n")
	got, err := readApplications(file)
	want := []node.Application{{ID: "reviews", Token: "secret%20"}, {ID: "urn:b c", Token: "t2", Readers: []string{"reviews", "*"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, words := range map[string]string{"a t\nb": ":2: application b has no token", "%x t": ":1: "} {
		write(text)
		if _, err := readApplications(file); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := readApplications(file + "?"); err == nil {
		t.Error("a missing file is read")
	}
}
