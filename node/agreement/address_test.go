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

// What is meant for another machine is not read: one that came back blank at the
// address of another must not vote for it.
func TestMeantForAnother(t *testing.T) {
	const self = trie.MachineID(7)
	for _, to := range []trie.MachineID{self, 8} {
		here, there := net.Pipe()
		s := &streams{self: self, conns: map[*tracked]struct{}{}}
		c := s.track(here, true)
		go func() {
			if greet(there, to) == nil {
				_, _ = io.WriteString(there, "vote")
			}
			there.Close()
		}()
		got, err := io.ReadAll(c)
		if to == self && (err != nil || string(got) != "vote") {
			t.Errorf("for this machine: %q, %v", got, err)
		}
		if to != self && (!errors.Is(err, errMeant) || len(got) > 0) {
			t.Errorf("for another: %q, %v", got, err)
		}
		c.Close()
	}
}
