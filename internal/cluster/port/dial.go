// Dialing another node.

package port

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Dial connects to the node at host:port and returns when it is welcome there. It takes no longer
// than ReadTimeout. After any error, the other node has acted on nothing. If the node gave a
// reason, the error is ErrCluster, ErrBusy, ErrSecret, ErrProtocol or ErrClosed.
func (p *Port) Dial(ctx context.Context, kind Kind, addr string) (net.Conn, error) {
	conn, err := p.dial(ctx, kind, addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s for %s: %w", addr, kind, err)
	}
	return conn, nil
}

func (p *Port) dial(ctx context.Context, kind Kind, addr string) (_ net.Conn, err error) {
	if p.closed {
		return nil, errClosedHere
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	// 1. Compose the hello.
	h := &hello{kind: kind, cluster: p.cluster(), tag: tagOf(p.clusterID()), secret: p.secret}
	if len(h.cluster) > maxCluster {
		return nil, fmt.Errorf("the cluster's name has %d bytes, at most %d are allowed", len(h.cluster), maxCluster)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	// 2. Dial. The connection must be counted before anything is sent on it, because Close must
	// end it.
	plain, err := p.network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	raw := p.conns.add(plain, dialed)
	if raw == nil {
		return nil, net.ErrClosed
	}
	defer func() {
		if err != nil {
			raw.Close()
		}
	}()
	// 3. Exchange hellos. If ctx ends, a deadline in the past ends the exchange.
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	conn, err := p.introduce(ctx, raw, host, h)
	if !stop() {
		return nil, ctx.Err()
	}
	return conn, err
}

// introduce prepares a dialed connection: TLS and hello.
func (p *Port) introduce(ctx context.Context, raw *conn, host string, h *hello) (net.Conn, error) {
	if p.credentials == nil {
		return raw, h.send(raw)
	}
	secure := tls.Client(raw, p.credentials.client(host))
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, h.send(secure)
}
