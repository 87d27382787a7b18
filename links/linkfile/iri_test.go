// Tests of IRIs from fields.

package linkfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

func TestAppendNormal(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"http://x", "http://x/"},
		{"HTTP://User@WWW.X.org:80/A?B#C", "http://User@www.x.org/A?B"},
		{"https://x:443?q", "https://x/?q"},
		{"https://x:80/", "https://x:80/"},
		{"http://x:/", "http://x/"},
		{"http://x:8080", "http://x:8080/"},
		{"http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"},
		{"http://[2001:DB8::1]", "http://[2001:db8::1]/"},
		{"http://x/a/./b/../c", "http://x/a/c"},
		{"http://x/../..", "http://x/"},
		{"http://x/a/.b/..c?/../d", "http://x/a/.b/..c?/../d"},
		{"http://X%2E/", "http://x%2E/"},
		{"http://É/", "http://É/"},
		{"ftp://X:21", "ftp://X:21"},
		{"URN:A#b", "URN:A#b"},
		{"http:a", ""},
		{"http:///a", ""},
		{"http://:80/", ""},
		{"http://user@/", ""},
		{"https:", ""},
		{"http://#a", ""},
	} {
		got, err := appendNormal([]byte("before "), []byte(test.in))
		if string(got) != "before "+test.want || (err == errNoHost) != (test.want == "") {
			t.Errorf("%s: %s, %v; want %s", test.in, got, err, test.want)
		}
		if again, err := appendNormal(nil, []byte(test.want)); test.want != "" && (err != nil || string(again) != test.want) {
			t.Errorf("%s again: %s, %v", test.want, again, err)
		}
	}
}

// FuzzName: any field is an error or a storable IRI. If the IRI is read once more, it must not
// change.
func FuzzName(f *testing.F) {
	for _, s := range []string{"http://x/a b", "HTTP://X:80/../%zz\xff", "x.org:80", "[::1]", "a:|", "  ", "localhost:1/?a", "http://a/./b#c", "x\x00:y"} {
		f.Add([]byte(s), true, true)
		f.Add([]byte(s), false, false)
	}
	f.Fuzz(func(t *testing.T, field []byte, bare, normalize bool) {
		var counts Counts
		n := naming{bare: bare, normalize: normalize, counts: &counts}
		got, err := n.append([]byte("x"), field)
		if err != nil {
			if string(got) != "x" || counts.Changed != 0 {
				t.Fatalf("%q: %q is left behind %v", field, got, err)
			}
			return
		}
		if err := triple.CheckIRI(string(got[1:])); err != nil {
			t.Fatalf("%q: %v", field, err)
		}
		n.bare = false
		again, err := n.append(nil, got[1:])
		if err != nil || !bytes.Equal(again, got[1:]) {
			t.Fatalf("%q becomes %q and then %q, %v", field, got[1:], again, err)
		}
		if counts.Changed == 0 && !bare && !normalize && strings.Trim(string(field), " ") != string(got[1:]) {
			t.Fatalf("%q became %q and is not counted", field, got[1:])
		}
	})
}

func TestIsNumber(t *testing.T) {
	for _, s := range []string{"0", "1", "-1.5", "+.5", "1.", "1e9", "1E-9", "0.0e+1"} {
		if !isNumber([]byte(s)) {
			t.Errorf("%s is a number", s)
		}
	}
	for _, s := range []string{"", "-", ".", "1e", "e1", "1.2.3", "1e1.5", "1 ", "x", "--1", "1e+", "NaN"} {
		if isNumber([]byte(s)) {
			t.Errorf("%q is no number", s)
		}
	}
}
