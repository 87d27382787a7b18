// The hello of connections between nodes. doc.go draws it.

package port

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// Kind is the purpose of a connection between nodes.
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
	maxCluster  = 255 // bytes of a cluster's name
	tagBytes    = 16  // of what stands for a cluster's ID
	nonceBytes  = 32
	proofBytes  = sha256.Size
	dialerSays  = "trefoil dialer"
	acceptsSays = "trefoil acceptor"
)

// flagSecret is the flag of a dialer with a secret.
const flagSecret byte = 1

// The answers of an acceptor.
const (
	sayWelcome    byte = 0
	sayProve      byte = 1
	sayCluster    byte = 2
	sayBusy       byte = 3
	sayNeedSecret byte = 4
	sayNoSecret   byte = 5
	sayWrong      byte = 6
	sayClosed     byte = 7
	sayMajor      byte = 8
)

// Errors of Dial for answers of the other node.
var (
	ErrCluster = errors.New("the node there belongs to another cluster")
	ErrBusy    = errors.New("the node there takes no connections of this kind now")
	// ErrClosed: the node there lets no other node in.
	ErrClosed = errors.New("the node there lets no node in: it listens beyond loopback or has users, and has neither certificates nor a gossip key; " +
		"start it with --ca, --cert and --key, or with --gossip-key-file")
	// ErrProtocol: the two nodes have different majors of the protocol.
	ErrProtocol = errors.New("the releases of the two nodes cannot be in one cluster: stop all nodes of the cluster, then start all with one release")
	// ErrSecret: the two nodes have different secrets.
	ErrSecret = errors.New("the secrets of the two nodes differ")
)

// sameSecret is the advice to an operator for ErrSecret.
const sameSecret = "start all nodes of a cluster with the same --gossip-key-file and, unless they have certificates, the same --token-file (or --operator-token-file)"

// hello identifies a connection and is covered by the proofs of both sides.
type hello struct {
	kind     Kind
	cluster  string
	tag      [tagBytes]byte // of the dialer's cluster; zero if it has no cluster yet
	secret   []byte         // nil requests no proof
	acceptor [nonceBytes]byte
	dialer   [nonceBytes]byte
}

// tagOf returns the tag of a cluster's ID in a hello. The ID itself must not be sent, because the
// key of gossip may depend on it.
func tagOf(id string) (tag [tagBytes]byte) {
	if id != "" {
		sum := sha256.Sum256([]byte("trefoil cluster " + id))
		copy(tag[:], sum[:])
	}
	return tag
}

func (h *hello) proof(who string) []byte {
	mac := hmac.New(sha256.New, h.secret)
	io.WriteString(mac, who)
	mac.Write(h.acceptor[:])
	mac.Write(h.dialer[:])
	mac.Write([]byte{byte(h.kind), byte(len(h.cluster))})
	io.WriteString(mac, h.cluster)
	mac.Write(h.tag[:])
	return mac.Sum(nil)
}

// house is an acceptor's side of the comparison with a hello.
type house struct {
	closed      bool
	cluster, id string // the ID is "" while the node has no cluster
	secret      []byte
}

// receive reads a hello from behind the magic and lets the dialer prove itself.
// The caller then answers with welcome or refuse.
func (own house) receive(conn io.ReadWriter) (*hello, error) {
	// 1. Read the dialer's claims.
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:1]); err != nil {
		return nil, fmt.Errorf("read the hello: %w", err)
	}
	if head[0] != protocol.Major {
		_, err := conn.Write([]byte{sayMajor, protocol.Major})
		return nil, errors.Join(fmt.Errorf("it has protocol %d, this node %d: %w", head[0], protocol.Major, ErrProtocol), err)
	}
	if _, err := io.ReadFull(conn, head[1:]); err != nil {
		return nil, fmt.Errorf("read the hello: %w", err)
	}
	h := &hello{kind: Kind(head[1]), secret: own.secret}
	if h.kind < Raft || h.kind > Peer || head[2]&^flagSecret != 0 {
		return nil, fmt.Errorf("its hello names an unknown %s, flags %#x", h.kind, head[2])
	}
	rest := make([]byte, int(head[3])+tagBytes)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return nil, fmt.Errorf("read the hello: %w", err)
	}
	h.cluster = string(rest[:head[3]])
	copy(h.tag[:], rest[head[3]:])
	// 2. The dialer must prove its secret.
	switch has := head[2]&flagSecret != 0; {
	case own.closed:
		return nil, errors.Join(errClosedHere, refuse(conn, sayClosed))
	case has && len(own.secret) == 0:
		err := fmt.Errorf("%w: it has one, this node has none: %s", ErrSecret, sameSecret)
		return nil, errors.Join(err, refuse(conn, sayNoSecret))
	case !has && len(own.secret) > 0:
		err := fmt.Errorf("%w: it has none, this node has one: %s", ErrSecret, sameSecret)
		return nil, errors.Join(err, refuse(conn, sayNeedSecret))
	case has:
		if err := h.demand(conn); err != nil {
			return nil, err
		}
	}
	// 3. Compare the clusters. The proof must come first, because it covers them.
	if !h.fits(own.cluster, tagOf(own.id)) {
		err := fmt.Errorf("it belongs to cluster %q, this node to %q (clusters of one name differ by their IDs)", h.cluster, own.cluster)
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
		return errors.Join(fmt.Errorf("%w: %s", ErrSecret, sameSecret), refuse(conn, sayWrong))
	}
	return nil
}

// fits reports whether a dialer may come in to a node of the cluster with the
// name and the tag. A side without a tag has no cluster yet.
func (h *hello) fits(cluster string, tag [tagBytes]byte) bool {
	if none := ([tagBytes]byte{}); h.tag != none && tag != none && h.tag != tag {
		return false
	}
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

// send sends the hello on a dialed connection and waits until it is welcome.
func (h *hello) send(conn io.ReadWriter) error {
	// 1. Send the dialer's hello, and read whether the other side wants a proof.
	var flags byte
	if len(h.secret) > 0 {
		flags = flagSecret
	}
	first := append([]byte(magic), protocol.Major, byte(h.kind), flags, byte(len(h.cluster)))
	first = append(append(first, h.cluster...), h.tag[:]...)
	if _, err := conn.Write(first); err != nil {
		return err
	}
	said, err := h.hear(conn)
	if err != nil {
		return err
	}
	// 2. Prove. Without a proof requested, the other side proves nothing either.
	proved := said == sayProve
	if proved {
		if err := h.prove(conn); err != nil {
			return err
		}
		if said, err = h.hear(conn); err != nil {
			return err
		}
	}
	if err := h.understand(said); err != nil || len(h.secret) == 0 {
		return err
	}
	// 3. Verify the proof of the other side.
	if !proved {
		return fmt.Errorf("%w: this node has one, the node there asks for none: %s", ErrSecret, sameSecret)
	}
	var proof [proofBytes]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return fmt.Errorf("read the proof of the node there: %w", err)
	}
	if !hmac.Equal(proof[:], h.proof(acceptsSays)) {
		return fmt.Errorf("%w: the node there has another one: %s", ErrSecret, sameSecret)
	}
	return nil
}

// understand returns the error of an answer, nil if it is a welcome.
func (h *hello) understand(said byte) error {
	switch said {
	case sayWelcome:
		return nil
	case sayCluster:
		return fmt.Errorf("%w, not to %q", ErrCluster, h.cluster)
	case sayBusy:
		return ErrBusy
	case sayNeedSecret:
		return fmt.Errorf("%w: the node there has one, this node has none: %s", ErrSecret, sameSecret)
	case sayNoSecret:
		return fmt.Errorf("%w: this node has one, the node there has none: %s", ErrSecret, sameSecret)
	case sayWrong:
		return fmt.Errorf("%w: %s", ErrSecret, sameSecret)
	case sayClosed:
		return ErrClosed
	}
	return fmt.Errorf("the answer begins with %#02x: no trefoil node answers there", said)
}

// hear reads one word of the acceptor. If it has another major, the result is an error.
func (h *hello) hear(conn io.Reader) (byte, error) {
	var said [1]byte
	_, err := io.ReadFull(conn, said[:])
	if errors.Is(err, io.EOF) {
		err = errors.New("the node there hung up: its TLS or release differs from this one's, or it has too many connections")
	}
	if err != nil || said[0] != sayMajor {
		return said[0], err
	}
	if _, err := io.ReadFull(conn, said[:]); err != nil {
		return 0, fmt.Errorf("read the protocol of the node there: %w", err)
	}
	return 0, fmt.Errorf("the node there has protocol %d, this node %d: %w", said[0], protocol.Major, ErrProtocol)
}

// prove answers the acceptor's demand.
func (h *hello) prove(conn io.ReadWriter) error {
	if len(h.secret) == 0 {
		return fmt.Errorf("%w: the node there asks for one, this node has none: %s", ErrSecret, sameSecret)
	}
	if _, err := io.ReadFull(conn, h.acceptor[:]); err != nil {
		return fmt.Errorf("read the nonce of the node there: %w", err)
	}
	rand.Read(h.dialer[:])
	_, err := conn.Write(append(h.dialer[:len(h.dialer):len(h.dialer)], h.proof(dialerSays)...))
	return err
}
