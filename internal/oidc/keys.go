// JWK sets, and the reading of one from its URL or from that which the issuer names.

package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of keys and of their reading.
const (
	maxSetBytes = 1 << 20
	minRSABits  = 2048
	// readTimeout bounds one reading of the URL, and so the wait of a request.
	readTimeout = 3 * time.Second
	// minPause is the time between the beginnings of two readings.
	minPause = 10 * time.Second
	// renewAfter is the age from which on keys are read again, while those before still count.
	renewAfter = 5 * time.Minute
	// waitAfter is the age from which on a request waits for the reading, because the issuer may have removed a key.
	waitAfter = 15 * time.Minute
	// maxAge is the age until which keys count if they cannot be read again.
	maxAge = 24 * time.Hour
)

// ErrKeys means that the keys of the issuer cannot be read at the moment.
var ErrKeys = errors.New("the keys of the issuer cannot be read at the moment: the log of the node has the reason")

// keySet has the keys of a JWK set by their IDs. It is not changed.
type keySet map[string][]jose.JSONWebKey

func (s keySet) find(_ context.Context, id string) ([]jose.JSONWebKey, error) { return s[id], nil }

// parseKeys parses a JWK set. It leaves out keys that are not public ones for signatures with an ID, because a set
// may have others, too. If nothing is left, it fails.
func parseKeys(text []byte) (keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if len(text) > maxSetBytes {
		return nil, fmt.Errorf("the JWK set has more than %d bytes", maxSetBytes)
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("it is no JWK set: %w", err)
	}
	keys := keySet{}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil || !key.Valid() || !key.IsPublic() || key.KeyID == "" || key.Use != "" && key.Use != "sig" {
			continue
		}
		if public, ok := key.Key.(*rsa.PublicKey); ok && public.N.BitLen() < minRSABits {
			continue
		}
		keys[key.KeyID] = append(keys[key.KeyID], key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no key of the JWK set can be used, of %d: a key is a public one for signatures, with a kid; of RSA it has at least %d bits", len(set.Keys), minRSABits)
	}
	return keys, nil
}

// remote reads a JWK set from its URL or, without one, from that of the issuer's configuration: at the start, for a token with an unknown key, and if the keys
// are old. It reads once at a time, and not more often than every minPause.
type remote struct {
	options Options
	client  *http.Client
	ctx     context.Context // of readings
	end     context.CancelFunc
	reading sync.WaitGroup

	mu     sync.Mutex
	keys   keySet        // of the last reading that succeeded
	read   time.Time     // when that began
	tried  time.Time     // when the last reading began
	failed bool          // the last reading
	done   chan struct{} // closed when the reading that runs has ended; nil if none runs
}

func newRemote(o Options) *remote {
	r := &remote{options: o, client: &http.Client{
		// A redirect could lead to a host or a scheme that the operator did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
	}}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

// find returns the keys with an ID. It waits for a reading only if it has no such keys, or if they are older than
// waitAfter. If that reading fails, the old keys still count.
func (r *remote) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	// Begin a reading if the key is unknown or old.
	r.mu.Lock()
	keys, age := r.current(id)
	var done <-chan struct{}
	if keys == nil || age > renewAfter {
		done = r.begin()
	}
	r.mu.Unlock()
	if keys != nil && age <= waitAfter {
		return keys, nil
	}
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if keys, _ = r.current(id); keys == nil && r.failed {
		return nil, ErrKeys
	}
	return keys, nil
}

// current returns the keys with an ID and their age; nil if there are none or they are too old. mu is held.
func (r *remote) current(id string) ([]jose.JSONWebKey, time.Duration) {
	age := r.options.Now().Sub(r.read)
	if age > maxAge {
		return nil, age
	}
	return r.keys[id], age
}

// begin returns a channel that is closed when a reading has ended: the one that runs, or a new one. It returns
// nil if the last one began less than minPause ago. mu is held.
func (r *remote) begin() <-chan struct{} {
	now := r.options.Now()
	if r.done != nil {
		return r.done
	}
	if r.ctx.Err() != nil || !r.tried.IsZero() && now.Sub(r.tried) < minPause {
		return nil
	}
	done := make(chan struct{})
	r.tried, r.done = now, done
	// The reading has no request as its owner, because its client may go away and others need the keys.
	r.reading.Go(func() {
		keys, err := r.fetch()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed = err != nil; !r.failed {
			r.keys, r.read = keys, now
		}
		r.done = nil
		close(done)
		if err != nil && r.ctx.Err() == nil {
			r.options.Logger.Error("the keys of the OpenID Connect issuer cannot be read; those read before count for a day", "issuer", r.options.Issuer, "error", err)
		}
	})
	return done
}

// fetch reads the keys. Without an address of the keys it reads that first, each time, because the issuer may change it.
func (r *remote) fetch() (keySet, error) {
	ctx, cancel := context.WithTimeout(r.ctx, readTimeout)
	defer cancel()
	address := r.options.KeysURL
	if address == "" {
		text, err := r.get(ctx, r.options.configurationURL())
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", r.options.configurationURL(), err)
		}
		if address, err = r.options.keysURL(text); err != nil {
			return nil, fmt.Errorf("GET %s: %w", r.options.configurationURL(), err)
		}
	}
	text, err := r.get(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", address, err)
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", address, err)
	}
	return keys, nil
}

// get reads a document of the issuer. One of more than maxSetBytes is an error.
func (r *remote) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the status is %s, not 200", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxSetBytes+1))
	if err == nil && len(text) > maxSetBytes {
		err = fmt.Errorf("the document has more than %d bytes", maxSetBytes)
	}
	return text, err
}

// close ends the reading that runs, and waits for it.
func (r *remote) close() {
	r.mu.Lock()
	r.end() // under mu: no reading begins after it
	r.mu.Unlock()
	r.reading.Wait()
}
