// Examples of host keys, domains and relations.

package weburl_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/weburl"
)

func ExampleHostKey() {
	key := weburl.HostKey("https://www.example.co.uk:8443/a?b")
	fmt.Println(key, weburl.Domain(key))
	// Output: uk.co.example.www:8443 uk.co.example
}

func ExampleClass() {
	fmt.Println(weburl.Class("http://www.example.org/a", "http://news.example.org/b"))
	// Output: same domain
}
