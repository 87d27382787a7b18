// Connections to allowed addresses only.

package outbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Limits of connections.
const (
	maxHeaderBytes  = 64 << 10
	connectTimeout  = 10 * time.Second
	maxIdle         = 256 // of all hosts: subscriptions may have a host each
	maxIdlePerHost  = 8
	idleConnTimeout = 10 * time.Second
)

// Transport returns a transport that dials allowed addresses only. The address is checked by the
// dial itself, after the name was resolved. It uses no proxy, because that would dial addresses
// unchecked, and HTTP/1 only. It does not decompress, because limits must hold. The caller closes
// its idle connections.
func (h *Hosts) Transport(logger *slog.Logger) *http.Transport {
	control := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrHost, err)
		}
		if err := h.checkAddress(at); err != nil {
			// The operator may see the address, but the client must not.
			logger.Warn("refused to dial an address that is not public", "address", address)
			return err
		}
		return nil
	}
	dialer := &net.Dialer{Timeout: connectTimeout, ControlContext: control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleConnTimeout,
		DisableCompression:     true,
	}
}
