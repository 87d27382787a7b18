// Tests of hellos.

package port

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// script is a connection with scripted bytes from the other side.
type script struct {
	io.Reader
	said bytes.Buffer
}

func (s *script) Write(b []byte) (int, error) { return s.said.Write(b) }

// The bytes of a hello are those of the package's comment, for good.
func TestHelloGolden(t *testing.T) {
	s := &script{Reader: bytes.NewReader([]byte{sayWelcome})}
	if err := (&hello{kind: Gossip, cluster: "db"}).send(s); err != nil {
		t.Fatal(err)
	}
	if got, want := s.said.String(), "TREFOIL\x01\x02\x00\x02db"+strings.Repeat("\x00", tagBytes); got != want {
		t.Errorf("a hello is %q, want %q", got, want)
	}
	// Computed by another implementation of HMAC from the drawing.
	h := &hello{kind: Peer, cluster: "db", tag: tagOf("id"), secret: []byte("secret")}
	for i := range nonceBytes {
		h.acceptor[i], h.dialer[i] = byte(i), byte(0xff-i)
	}
	for who, want := range map[string]string{
		dialerSays:  "378ce5ffd1692d9ea884e25cce3027059eb27a18610c55e8b8818dd67d835455",
		acceptsSays: "15a1af1903ca605666072e34774770f7fd1c7f3e91ca592cf9d1a0b2c9f9187b",
	} {
		if got := hex.EncodeToString(h.proof(who)); got != want {
			t.Errorf("%s: the proof is %s, want %s", who, got, want)
		}
	}
}

// What answers a hello may be anything.
func TestSendErrors(t *testing.T) {
	for answer, want := range map[string]string{
		"":                              "hung up",
		"HTTP/1.1 400":                  "no trefoil node answers there",
		"\x01short":                     "nonce",
		"\x02":                          ErrCluster.Error(),
		"\x03":                          ErrBusy.Error(),
		"\x04":                          "this node has none",
		"\x05":                          "the node there has none",
		"\x06":                          ErrSecret.Error(),
		"\x07":                          ErrClosed.Error(),
		"\x08\x07":                      "the node there has protocol 7, this node 1: the releases of the two nodes cannot be in one cluster",
		"\x08":                          "read the protocol",
		"\x01" + nonce + "\x08\x03":     ErrProtocol.Error(),
		"\x00":                          "asks for none",
		"\x01" + nonce:                  "hung up",
		"\x01" + nonce + "1":            "no trefoil node",
		"\x01" + nonce + "\x06":         ErrSecret.Error(),
		"\x01" + nonce + "\x00" + nonce: "the node there has another one",
	} {
		h := &hello{kind: Raft, cluster: "c", secret: []byte("s")}
		err := h.send(&script{Reader: strings.NewReader(answer)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", answer, err, want)
		}
	}
}

const nonce = "0123456789abcdef0123456789abcdef" // 32 bytes

// Whatever a stranger sends, receive ends, says little, and takes no wrong proof.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x01\x03\x00\x01c0123456789abcdef"), false)
	f.Add([]byte("\x01\x03\x01\x01c0123456789abcdef"+nonce+nonce), true)
	f.Add([]byte("\x02\x03\x01c"), true)
	f.Add([]byte("\x01\x00\xff"), true)
	f.Fuzz(func(t *testing.T, text []byte, guarded bool) {
		var secret []byte
		if guarded {
			secret = []byte("secret")
		}
		s := &script{Reader: bytes.NewReader(text)}
		h, err := house{cluster: "c", secret: secret}.receive(s)
		if err == nil && (guarded || h.kind < Raft || h.kind > Peer || len(text) < 4+tagBytes || text[0] != protocol.Major) {
			t.Errorf("%x was let in", text)
		}
		if s.said.Len() > 1+nonceBytes+1 {
			t.Errorf("a stranger was told %d bytes", s.said.Len())
		}
	})
}
