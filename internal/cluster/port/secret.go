// The secret of members, made of the gossip key and the token.

package port

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MemberSecret returns the secret for proofs between members without certificates: nil if there
// is neither a key nor a token. A token is a part of it, because a process without the token must
// not become a member.
func MemberSecret(gossipKey []byte, token string) ([]byte, error) {
	if token == "" {
		return gossipKey, nil
	}
	const keyBytes = 32
	material := append(binary.AppendUvarint(nil, uint64(len(gossipKey))), gossipKey...)
	secret, err := hkdf.Key(sha256.New, append(material, token...), nil, "trefoil secret of nodes", keyBytes)
	if err != nil {
		return nil, fmt.Errorf("the secret of members: %w", err)
	}
	return secret, nil
}
