package agreement

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/trie"
)

// Raft sends what it has for a server to the server's address, whoever is there.
// A machine that came back with a blank disk at the address of the one that it was
// would give that one's vote, without its log. So an address in Raft's configuration
// names the machine too, ID@host:port, and every connection begins with the 8 bytes of
// the ID that it is meant for; another machine closes it.

func serverID(id trie.MachineID) raft.ServerID { return raft.ServerID(id.String()) }

func serverAddress(id trie.MachineID, address string) raft.ServerAddress {
	return raft.ServerAddress(id.String() + "@" + address)
}

// parseAddress is the reverse of serverAddress.
func parseAddress(a raft.ServerAddress) (id trie.MachineID, address string, err error) {
	text, address, ok := strings.Cut(string(a), "@")
	if !ok {
		return 0, "", fmt.Errorf("agreement: no machine in the address %q", a)
	}
	id, err = trie.ParseMachineID(text)
	return id, address, err
}

// errMeant ends a connection that is meant for another machine.
var errMeant = errors.New("agreement: the connection is meant for another machine")

// helloTimeout bounds how long a connection may take to say whom it is meant for.
const helloTimeout = 10 * time.Second

// greet writes whom a connection is meant for.
func greet(c io.Writer, id trie.MachineID) error {
	_, err := c.Write(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return err
}

// meant reads whom a connection is meant for, and fails where that is not self.
func meant(c io.Reader, self trie.MachineID) error {
	var id [8]byte
	if _, err := io.ReadFull(c, id[:]); err != nil {
		return err
	}
	if trie.MachineID(binary.BigEndian.Uint64(id[:])) != self {
		return errMeant
	}
	return nil
}
