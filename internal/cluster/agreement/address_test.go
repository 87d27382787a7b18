// Tests of addresses.

package agreement

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/trie"
)

func TestServerAddress(t *testing.T) {
	id, address, err := parseAddress(serverAddress(7, "h:1"))
	if id != 7 || address != "h:1" || err != nil {
		t.Errorf("%s, %q, %v", id, address, err)
	}
	for _, bad := range []string{"", "h:1", "x@h:1"} {
		if _, _, err := parseAddress(raft.ServerAddress(bad)); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}

// A message for another machine is not read, because a blank machine at the address of another
// must not vote for it. A message of another lineage is not read either.
func TestMeantForAnother(t *testing.T) {
	const self = trie.MachineID(7)
	for _, tt := range []struct {
		to        trie.MachineID
		own, from string
		want      error
	}{
		{self, "a", "a", nil},
		{self, "", "a", nil}, // it belongs to none yet
		{self, "a", "b", errLineage},
		{self, "a", "", errLineage},
		{8, "a", "a", errMeant},
	} {
		here, there := net.Pipe()
		s := &streams{self: self, lineage: func() string { return tt.own }, conns: map[*tracked]struct{}{}}
		c := s.track(here, true)
		go func() {
			if greet(there, tt.to, tt.from) == nil {
				_, _ = io.WriteString(there, "vote")
			}
			there.Close()
		}()
		got, err := io.ReadAll(c)
		if !errors.Is(err, tt.want) || tt.want == nil && string(got) != "vote" || tt.want != nil && len(got) > 0 {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
		c.Close()
	}
}
