// Signatures, as Standard Webhooks defines them.

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// secretPrefix begins the text of a secret.
const secretPrefix = "whsec_"

// Sign returns the signature of a message sent at a time: "v1," and base64 of HMAC-SHA256 of the
// ID, the time in seconds and the body, with dots between them.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Verify is for receivers: it reports whether one of the signatures in a webhook-signature header is
// right, and the timestamp is at most tolerance away from now.
func Verify(secret []byte, id, timestamp, signatures string, body []byte, now time.Time, tolerance time.Duration) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return false
	}
	at := time.Unix(seconds, 0)
	if now.Sub(at).Abs() > tolerance {
		return false
	}
	want := []byte(Sign(secret, id, at, body))
	for got := range strings.FieldsSeq(signatures) {
		if hmac.Equal([]byte(got), want) {
			return true
		}
	}
	return false
}

// DeriveSecret returns the secret of a name under the operator's key. Secrets are derived, because
// a stored one could be read by everybody who may read the store.
func DeriveSecret(key []byte, name string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("trefoil subscription " + name))
	return mac.Sum(nil)
}

// SecretText returns a secret as text.
func SecretText(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// ParseSecret decodes the output of SecretText.
func ParseSecret(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, secretPrefix)
	secret, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(secret) == 0 {
		return nil, fmt.Errorf("a secret is %s and base64", secretPrefix)
	}
	return secret, nil
}
