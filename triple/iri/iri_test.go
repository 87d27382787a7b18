// Tests of resolution of IRIs.

package iri

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// TestRFC3986Examples has the examples of sections 5.4.1 and 5.4.2.
func TestRFC3986Examples(t *testing.T) {
	base, err := NewBase("http://a/b/c/d;p?q")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ ref, want string }{
		{"g:h", "g:h"},
		{"g", "http://a/b/c/g"},
		{"./g", "http://a/b/c/g"},
		{"g/", "http://a/b/c/g/"},
		{"/g", "http://a/g"},
		{"//g", "http://g"},
		{"?y", "http://a/b/c/d;p?y"},
		{"g?y", "http://a/b/c/g?y"},
		{"#s", "http://a/b/c/d;p?q#s"},
		{"g#s", "http://a/b/c/g#s"},
		{"g?y#s", "http://a/b/c/g?y#s"},
		{";x", "http://a/b/c/;x"},
		{"g;x", "http://a/b/c/g;x"},
		{"g;x?y#s", "http://a/b/c/g;x?y#s"},
		{"", "http://a/b/c/d;p?q"},
		{".", "http://a/b/c/"},
		{"./", "http://a/b/c/"},
		{"..", "http://a/b/"},
		{"../", "http://a/b/"},
		{"../g", "http://a/b/g"},
		{"../..", "http://a/"},
		{"../../", "http://a/"},
		{"../../g", "http://a/g"},
		{"../../../g", "http://a/g"},
		{"../../../../g", "http://a/g"},
		{"/./g", "http://a/g"},
		{"/../g", "http://a/g"},
		{"g.", "http://a/b/c/g."},
		{".g", "http://a/b/c/.g"},
		{"g..", "http://a/b/c/g.."},
		{"..g", "http://a/b/c/..g"},
		{"./../g", "http://a/b/g"},
		{"./g/.", "http://a/b/c/g/"},
		{"g/./h", "http://a/b/c/g/h"},
		{"g/../h", "http://a/b/c/h"},
		{"g;x=1/./y", "http://a/b/c/g;x=1/y"},
		{"g;x=1/../y", "http://a/b/c/y"},
		{"g?y/./x", "http://a/b/c/g?y/./x"},
		{"g?y/../x", "http://a/b/c/g?y/../x"},
		{"g#s/./x", "http://a/b/c/g#s/./x"},
		{"g#s/../x", "http://a/b/c/g#s/../x"},
		{"http:g", "http:g"}, // strict
	} {
		if got := base.Resolve(test.ref); got != test.want {
			t.Errorf("resolve(%q) = %q, want %q", test.ref, got, test.want)
		}
	}
}

func TestOtherBases(t *testing.T) {
	for _, test := range []struct{ base, ref, want string }{
		{"http://a", "g", "http://a/g"},
		{"http://a", "", "http://a"},
		{"http://a?q", "g", "http://a/g"},
		{"http://a#f", "#g", "http://a#g"},
		{"http://a/b#f", "", "http://a/b"},
		{"file:///a/b", "c", "file:///a/c"},
		{"file:///", "../c", "file:///c"},
		{"urn:a:b", "c", "urn:c"},
		{"urn:a:b", "#c", "urn:a:b#c"},
		{"mailto:x@y", "?z", "mailto:x@y?z"},
		{"http://ü/ä/ö", "é", "http://ü/ä/é"},
		{"http://a/b/../c", "", "http://a/b/../c"},
		{"http://a/b/../c", "http://x/../y", "http://x/../y"},
		{"", "x/y", "x/y"},
	} {
		var base Base
		if test.base != "" {
			var err error
			if base, err = NewBase(test.base); err != nil {
				t.Fatal(err)
			}
		}
		if got := base.Resolve(test.ref); got != test.want {
			t.Errorf("resolve(%q, %q) = %q, want %q", test.base, test.ref, got, test.want)
		}
	}
	for _, bad := range []string{"", "x", "/x", "http://a b", "1:x"} {
		if _, err := NewBase(bad); err == nil {
			t.Errorf("NewBase(%q) gave no error", bad)
		}
	}
}

// FuzzResolve: a reference resolved against a base must be absolute. If its path was resolved, it
// must have no dot segments.
func FuzzResolve(f *testing.F) {
	f.Add("http://a/b/c/d;p?q", "../../../g")
	f.Add("file:///a", "//x/../y?z#w")
	f.Add("urn:x:y", "./..//a")
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := NewBase(base)
		if err != nil {
			return
		}
		got := b.Resolve(ref)
		if triple.CheckIRI("x:"+ref) != nil {
			return
		}
		if err := triple.CheckIRI(got); err != nil {
			t.Fatalf("resolve(%q, %q) = %q: %v", base, ref, got, err)
		}
		if !HasScheme(ref) && strings.HasPrefix(ref, "/") && strings.Contains(split(got).path+"/", "/../") {
			t.Fatalf("resolve(%q, %q) = %q has dot segments", base, ref, got)
		}
	})
}
