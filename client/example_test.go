// Examples of a range and a query.

package client_test

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// The sizes from 100 to below 200, least first.
func ExampleClient_Range() {
	c, err := client.New("http://127.0.0.1:7333", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	sizes := triple.Bounds{
		Order:  triple.POS,
		Prefix: []triple.Term{triple.NewIRI("http://example.org/size")},
		GE:     triple.NewTyped("100", triple.XSDInteger),
		LT:     triple.NewTyped("200", triple.XSDInteger),
	}
	for t, err := range c.Range(context.Background(), sizes, client.RangeOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.Subject, t.Object.Value())
	}
}

// Who knows somebody, whatever the name of that somebody holds.
func ExampleClient_Query() {
	c, err := client.New("http://127.0.0.1:7333", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	const query = `PREFIX ex: <http://example.org/>
		SELECT ?who ?age WHERE { ?friend ex:name ?name . ?who ex:knows ?friend ; ex:age ?age }`
	for s, err := range c.Query(context.Background(), query, client.QueryOptions{
		Bind: map[string]triple.Term{"name": triple.NewString(`Ann "the" O'Neill`)},
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Term("who"), s.Term("age").Value())
	}
}
