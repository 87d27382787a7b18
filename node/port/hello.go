// The hello of connections between nodes. doc.go draws it.

package port

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Kind is what a connection between nodes is for.
type Kind byte

const (
	Raft   Kind = 1
	Gossip Kind = 2
	Peer   Kind = 3
)

func (k Kind) String() string {
	switch k {
	case Raft:
		return "raft"
	case Gossip:
		return "gossip"
	case Peer:
		return "peer"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

const (
	magic       = "TREFOIL"
	version     = 1
	maxCluster  = 255 // bytes of a cluster's name
	nonceBytes  = 32
	proofBytes  = sha256.Size
	dialerSays  = "trefoil dialer"
	acceptsSays = "trefoil acceptor"
)

// What an acceptor says.
const (
	sayWelcome byte = 0
	sayProve   byte = 1
	sayCluster byte = 2
	sayBusy    byte = 3
)

// Why a dialed node did not let us in.
var (
	ErrCluster = errors.New("the node there belongs to another cluster")
	ErrBusy    = errors.New("the node there takes no connections of this kind now")
)

// hello is what a connection is known by, and what both sides prove with.
type hello struct {
	kind     Kind
	cluster  string
	secret   []byte // nil asks for no proof
	acceptor [nonceBytes]byte
	dialer   [nonceBytes]byte
}

func (h *hello) proof(who string) []byte {
	mac := hmac.New(sha256.New, h.secret)
	io.WriteString(mac, who)
	mac.Write(h.acceptor[:])
	mac.Write(h.dialer[:])
	mac.Write([]byte{byte(h.kind), byte(len(h.cluster))})
	io.WriteString(mac, h.cluster)
	return mac.Sum(nil)
}

// receive reads a hello from behind the magic and lets the dialer prove itself.
// The caller then answers with welcome or refuse.
func receive(conn io.ReadWriter, cluster string, secret []byte) (*hello, error) {
	var head [3]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, fmt.Errorf("read the hello: %w", err)
	}
	if head[0] != version {
		return nil, fmt.Errorf("its hello has version %d, this node's %d: they run different releases", head[0], version)
	}
	h := &hello{kind: Kind(head[1]), secret: secret}
	if h.kind < Raft || h.kind > Peer {
		return nil, fmt.Errorf("its hello names an unknown %s", h.kind)
	}
	name := make([]byte, head[2])
	if _, err := io.ReadFull(conn, name); err != nil {
		return nil, fmt.Errorf("read the hello: %w", err)
	}
	h.cluster = string(name)
	if len(secret) > 0 {
		if err := h.demand(conn); err != nil {
			return nil, err
		}
	}
	if !h.fits(cluster) {
		err := fmt.Errorf("it belongs to cluster %q, this node to %q", h.cluster, cluster)
		return nil, errors.Join(err, refuse(conn, sayCluster))
	}
	return h, nil
}

// demand asks the dialer for its proof.
func (h *hello) demand(conn io.ReadWriter) error {
	rand.Read(h.acceptor[:])
	if _, err := conn.Write(append([]byte{sayProve}, h.acceptor[:]...)); err != nil {
		return fmt.Errorf("ask for a proof: %w", err)
	}
	var answer [nonceBytes + proofBytes]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("read its proof: %w", err)
	}
	copy(h.dialer[:], answer[:])
	if !hmac.Equal(answer[nonceBytes:], h.proof(dialerSays)) {
		return errors.New("its key is another one: all nodes of a cluster have the same gossip key")
	}
	return nil
}

// fits tells whether a dialer may come in to a node of the cluster.
func (h *hello) fits(cluster string) bool {
	return h.cluster == cluster || cluster == "" || h.cluster == "" && h.kind == Peer
}

// welcome ends the hello on the acceptor's side.
func (h *hello) welcome(conn io.Writer) error {
	answer := []byte{sayWelcome}
	if len(h.secret) > 0 {
		answer = append(answer, h.proof(acceptsSays)...)
	}
	_, err := conn.Write(answer)
	return err
}

func refuse(conn io.Writer, why byte) error {
	_, err := conn.Write([]byte{why})
	return err
}

// send says hello on a dialed connection and waits until it is welcome.
func (h *hello) send(conn io.ReadWriter) error {
	first := append([]byte(magic), version, byte(h.kind), byte(len(h.cluster)))
	if _, err := conn.Write(append(first, h.cluster...)); err != nil {
		return err
	}
	said, err := h.hear(conn)
	if err != nil {
		return err
	}
	proved := said == sayProve
	if proved {
		if err := h.prove(conn); err != nil {
			return err
		}
		if said, err = h.hear(conn); err != nil {
			return err
		}
	}
	switch said {
	case sayWelcome:
	case sayCluster:
		return fmt.Errorf("%w, not to %q", ErrCluster, h.cluster)
	case sayBusy:
		return ErrBusy
	default:
		return fmt.Errorf("the answer begins with %#02x: no trefoil node answers there", said)
	}
	if len(h.secret) == 0 {
		return nil
	}
	if !proved {
		return errors.New("the node there has no gossip key, this one has: give all nodes the same")
	}
	var proof [proofBytes]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return fmt.Errorf("read the proof of the node there: %w", err)
	}
	if !hmac.Equal(proof[:], h.proof(acceptsSays)) {
		return errors.New("the node there has another gossip key: give all nodes the same")
	}
	return nil
}

// hear reads one word of the acceptor.
func (h *hello) hear(conn io.Reader) (byte, error) {
	var said [1]byte
	_, err := io.ReadFull(conn, said[:])
	if errors.Is(err, io.EOF) {
		err = errors.New("the node there hung up: its TLS, gossip key or release differs from this one's, or it has too many connections")
	}
	return said[0], err
}

// prove answers the acceptor's demand.
func (h *hello) prove(conn io.ReadWriter) error {
	if _, err := io.ReadFull(conn, h.acceptor[:]); err != nil {
		return fmt.Errorf("read the nonce of the node there: %w", err)
	}
	if len(h.secret) == 0 {
		return errors.New("the node there asks for the gossip key, this one has none: give all nodes the same")
	}
	rand.Read(h.dialer[:])
	_, err := conn.Write(append(h.dialer[:len(h.dialer):len(h.dialer)], h.proof(dialerSays)...))
	return err
}
