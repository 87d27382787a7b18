package port

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"testing"
)

// script is a connection whose other side says what was written down.
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
	if got, want := s.said.String(), "TREFOIL\x01\x02\x02db"; got != want {
		t.Errorf("a hello is %q, want %q", got, want)
	}
	h := &hello{kind: Peer, cluster: "db", secret: []byte("secret")}
	for i := range nonceBytes {
		h.acceptor[i], h.dialer[i] = byte(i), byte(0xff-i)
	}
	for who, want := range map[string]string{
		dialerSays:  "beaaa5398e566c48f5da2366794dd7aed87f6d6c9c2767604019a7defd4cfc41",
		acceptsSays: "31b3aac4f82758c42c95c97bcef36fd891ba6c4ee57e4436c02838e04ee8598a",
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
		"\x00":                          "no gossip key",
		"\x01" + nonce:                  "hung up",
		"\x01" + nonce + "1":            "no trefoil node",
		"\x01" + nonce + "\x00" + nonce: "another gossip key",
	} {
		h := &hello{kind: Raft, cluster: "c", secret: []byte("s")}
		err := h.send(&script{Reader: strings.NewReader(answer)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", answer, err, want)
		}
	}
}

const nonce = "0123456789abcdef0123456789abcdef"

// Whatever a stranger sends, receive ends, says little, and takes no wrong proof.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x01\x03\x01c"), false)
	f.Add([]byte("\x01\x03\x01c"+"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), true)
	f.Add([]byte("\x02\x00\xff"), true)
	f.Fuzz(func(t *testing.T, text []byte, guarded bool) {
		var secret []byte
		if guarded {
			secret = []byte("secret")
		}
		s := &script{Reader: bytes.NewReader(text)}
		h, err := receive(s, "c", secret)
		if err == nil && (guarded || h.kind < Raft || h.kind > Peer || len(text) < 3 || text[0] != version) {
			t.Errorf("%x was let in", text)
		}
		if s.said.Len() > 1+nonceBytes {
			t.Errorf("a stranger was told %d bytes", s.said.Len())
		}
	})
}
