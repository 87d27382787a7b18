// Tests of the options of Serve.

package node

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name    string
		options ServeOptions
		option  string // that the error names; "": the options are valid
	}{
		{"zero", ServeOptions{}, ""},
		{"memory", ServeOptions{Options: Options{Memory: -1}}, "Memory"},
		{"queries", ServeOptions{Options: Options{MaxQueries: -1}}, "MaxQueries"},
		{"hosts", ServeOptions{Options: Options{AllowHosts: []string{"a b"}}}, "a b"},
		{"predicate", ServeOptions{Options: Options{LinkPredicate: "no IRI"}}, "LinkPredicate"},
		{"origin", ServeOptions{AllowOrigins: []string{"nonsense"}}, "nonsense"},
		{"copies", ServeOptions{Cluster: ClusterOptions{Copies: 6}}, "Copies"},
		{"link copies", ServeOptions{Cluster: ClusterOptions{LinkCopies: 5}}, "LinkCopies"},
		{"key", ServeOptions{Cluster: ClusterOptions{GossipKey: make([]byte, 20)}}, "GossipKey"},
		{"timeout", ServeOptions{Cluster: ClusterOptions{FailureTimeout: time.Millisecond}}, "FailureTimeout 1ms"},
		{"clear", ServeOptions{Cluster: ClusterOptions{Join: []string{"a.example:1"}}}, "CA, Cert and Key"},
	} {
		err := test.options.Validate()
		var bad *OptionError
		if test.option == "" && err != nil || test.option != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), test.option)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.option)
		}
	}
	err := ServeOptions{Cluster: ClusterOptions{RebuildShare: 101}}.Validate()
	var bad *OptionError
	if !errors.As(err, &bad) || bad.Message(strings.ToLower) != "rebuildshare 101: it is 1 to 100 percent" {
		t.Errorf("got %v", err)
	}
}

// Only loopback may be without a token.
func TestListen(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:7333": true, "127.9.9.9:0": true, "[::1]:7333": true, "localhost:7333": true,
		":7333": false, "0.0.0.0:7333": false, "[::]:7333": false, "10.0.0.1:7333": false, "example.org:80": false,
		"localhost.example.org:80": false, "[::ffff:127.0.0.1]:7333": true,
	} {
		if err := (ServeOptions{Listen: address}).Validate(); (err == nil) != loopback {
			t.Errorf("%s: %v", address, err)
		}
		if (ServeOptions{Listen: address, Token: "t"}).Validate() != nil || (ServeOptions{Listen: address, Insecure: true}).Validate() != nil {
			t.Errorf("%s is rejected with a token or Insecure", address)
		}
	}
	if (ServeOptions{Listen: "nonsense", Token: "t", Insecure: true}).Validate() == nil {
		t.Error("nonsense is an address")
	}
}

// A node that strangers can reach admits only machines that can prove a secret or a
// certificate.
func TestClosed(t *testing.T) {
	key := make([]byte, 32)
	for _, test := range []struct {
		listen   string
		insecure bool
		cluster  ClusterOptions
		closed   bool
	}{
		{"127.0.0.1:1", false, ClusterOptions{}, false},
		{"0.0.0.0:1", false, ClusterOptions{}, true},
		{"10.0.0.1:1", false, ClusterOptions{}, true},
		{"0.0.0.0:1", true, ClusterOptions{}, false},
		{"0.0.0.0:1", false, ClusterOptions{GossipKey: key}, false},
		{"0.0.0.0:1", false, ClusterOptions{CA: "1", Cert: "2", Key: "3"}, false},
	} {
		o := ServeOptions{Listen: test.listen, Insecure: test.insecure, Cluster: test.cluster}
		if o.closed() != test.closed {
			t.Errorf("%s, %v, %+v: closed %v", test.listen, test.insecure, test.cluster, o.closed())
		}
	}
}

// Users without a token are nothing that nodes prove.
func TestClosedWithUsers(t *testing.T) {
	users := []User{{Name: "a"}}
	for _, test := range []struct {
		o      ServeOptions
		closed bool
	}{
		{ServeOptions{Users: users}, true},
		{ServeOptions{Users: users, Token: "t"}, false},
		{ServeOptions{Users: users, OperatorToken: "t"}, false},
		{ServeOptions{Users: users, Insecure: true}, false},
		{ServeOptions{Users: users, Cluster: ClusterOptions{GossipKey: make([]byte, 32)}}, false},
		{ServeOptions{Users: users, Cluster: ClusterOptions{CA: "1", Cert: "2", Key: "3"}}, false},
	} {
		if test.o.Listen = DefaultListen; test.o.closed() != test.closed {
			t.Errorf("%+v: closed %v", test.o, test.o.closed())
		}
	}
}

// The secret of members follows from the gossip key and the token; with certificates
// from the gossip key alone.
func TestSecret(t *testing.T) {
	key, other := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)
	secret := func(cert string, key []byte, token string) string {
		t.Helper()
		s, err := (&ServeOptions{Token: token, Cluster: ClusterOptions{Cert: cert, GossipKey: key}}).secret()
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	}
	seen := map[string]string{}
	for name, s := range map[string]string{
		"key": secret("", key, ""), "token": secret("", nil, "t"), "another token": secret("", nil, "u"),
		"key and token": secret("", key, "t"), "another key and token": secret("", other, "t"), "key and another token": secret("", key, "u"),
		"a token that begins with the key": secret("", nil, string(key)+"t"),
	} {
		if was, ok := seen[s]; ok || len(s) != 32 {
			t.Errorf("the secret of %s is that of %q, or %d bytes", name, was, len(s))
		}
		seen[s] = name
	}
	if secret("", nil, "") != "" || secret("c", nil, "t") != "" || secret("c", key, "t") != string(key) {
		t.Error("a secret without a token, or a token besides certificates")
	}
	operator, err := (&ServeOptions{Token: "u", OperatorToken: "t"}).secret()
	if err != nil || string(operator) != secret("", nil, "t") {
		t.Errorf("the operator token is not the members': %v", err)
	}
}
