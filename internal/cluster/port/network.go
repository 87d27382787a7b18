// The network of a port: the machine's, or a simulated one.

package port

import (
	"context"
	"net"
)

// Network opens listeners and connections. Addresses are host:port; port 0
// takes a free one.
type Network interface {
	Listen(ctx context.Context, addr string) (net.Listener, error)
	ListenPacket(ctx context.Context, addr string) (net.PacketConn, error)
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// Host is the machine's network: TCP and UDP.
var Host Network = host{}

type host struct{}

func (host) Listen(ctx context.Context, addr string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}

func (host) ListenPacket(ctx context.Context, addr string) (net.PacketConn, error) {
	return (&net.ListenConfig{}).ListenPacket(ctx, "udp", addr)
}

func (host) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

// bindTries is how many free TCP ports are tried until one is free for UDP too.
const bindTries = 20

// bind opens the TCP listener, and packets on the same number.
func bind(ctx context.Context, n Network, addr string) (net.Listener, net.PacketConn, error) {
	_, number, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, err
	}
	tries := 1
	if number == "0" {
		tries = bindTries
	}
	var packets net.PacketConn
	for range tries {
		var streams net.Listener
		streams, err = n.Listen(ctx, addr)
		if err != nil {
			return nil, nil, err
		}
		packets, err = n.ListenPacket(ctx, streams.Addr().String())
		if err == nil {
			return streams, packets, nil
		}
		streams.Close()
	}
	return nil, nil, err
}
