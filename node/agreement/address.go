package agreement

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/trie"
)

// Raft sends what it has for a server to the server's address, whoever is there.
// A machine that came back with a blank disk at the address of the one that it was
// would give that one's vote, without its log. So an address in Raft's configuration
// names the machine too, ID@host:port, and every connection begins with the 8 bytes of
// the ID that it is meant for; another machine closes it. 8 more bytes are a hash of the
// lineage in which the sender agrees, so that the Raft of another history, which may have
// the same machines and greater terms, changes nothing here:
//
//	ID of the machine, 8 bytes | hash of the lineage, 8 bytes, big-endian

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

var (
	// errMeant ends a connection that is meant for another machine.
	errMeant = errors.New("agreement: the connection is meant for another machine")
	// errLineage ends a connection of a machine that agrees in another history.
	errLineage = errors.New("agreement: the connection is of another lineage")
)

// helloTimeout bounds how long a connection may take to say whom it is meant for.
const helloTimeout = 10 * time.Second

// greet writes whom a connection is meant for, and in which lineage.
func greet(c io.Writer, id trie.MachineID, lineage string) error {
	b := binary.BigEndian.AppendUint64(nil, uint64(id))
	_, err := c.Write(binary.BigEndian.AppendUint64(b, xxhash.Sum64String(lineage)))
	return err
}

// meant reads whom a connection is meant for, and fails if that is not self or if it
// is of another lineage. A machine that is of no lineage yet, "", takes any.
func meant(c io.Reader, self trie.MachineID, lineage string) error {
	var b [16]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if trie.MachineID(binary.BigEndian.Uint64(b[:])) != self {
		return errMeant
	}
	if lineage != "" && binary.BigEndian.Uint64(b[8:]) != xxhash.Sum64String(lineage) {
		return errLineage
	}
	return nil
}
