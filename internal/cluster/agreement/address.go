// Addresses in Raft's configuration: host:port and the machine.

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

// Raft sends messages for a server to the server's address, even if another machine is there. If
// a machine came back with a blank disk at its former address, it would give the former one's
// vote, without its log. So an address in Raft's configuration must name the machine too,
// ID@host:port. Every connection begins with the 8 bytes of the recipient's ID; another machine
// closes it. 8 more bytes are a hash of the sender's lineage, because the Raft of another history
// must change nothing here. It may have the same machines and greater terms.
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
	// errMeant ends a connection for another machine.
	errMeant = errors.New("agreement: the connection is meant for another machine")
	// errLineage ends a connection of another lineage.
	errLineage = errors.New("agreement: the connection is of another lineage")
)

// helloTimeout bounds the time until a connection names its recipient.
const helloTimeout = 10 * time.Second

// greet writes the recipient of a connection and the lineage.
func greet(c io.Writer, id trie.MachineID, lineage string) error {
	b := binary.BigEndian.AppendUint64(nil, uint64(id))
	_, err := c.Write(binary.BigEndian.AppendUint64(b, xxhash.Sum64String(lineage)))
	return err
}

// checkRecipient reads the recipient of a connection. It fails if it is not self or the lineage is another
// one. If a machine has no lineage yet, "", it takes any.
func checkRecipient(c io.Reader, self trie.MachineID, lineage string) error {
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
