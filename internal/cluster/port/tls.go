// Certificates: those of this node, the accepted ones, and reloads when their files change.

package port

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

// NodeMark is a URI among a certificate's names: with it the certificate is a node's.
const NodeMark = "trefoil:node"

// clusterPrefix begins the URIs among a certificate's names for its clusters.
const clusterPrefix = "trefoil:cluster:"

// ClusterMark returns the URI to bind a node's certificate to the cluster of a name. A
// certificate may have several. If it has none, it is good for every cluster of its authority.
func ClusterMark(cluster string) string { return clusterPrefix + url.PathEscape(cluster) }

// TLS names the PEM files of a node: the CA's certificates, and the node's own certificate and
// key. They are read at each handshake, so new ones count from then on; open connections stay.
// While the files do not fit each other, the last fitting ones are used.
type TLS struct {
	CA, Cert, Key string
}

// credentials gives the TLS configurations of the present files.
type credentials struct {
	files   TLS
	cluster func() string
	log     *slog.Logger

	mu      sync.Mutex
	text    [3][]byte // of the files that made now
	now     *material
	problem string // said already
}

// material is the content of one state of the files. It is immutable.
type material struct {
	accept, dial *tls.Config
	own          *x509.Certificate
}

func newCredentials(files TLS, cluster func() string, log *slog.Logger) (*credentials, error) {
	c := &credentials{files: files, cluster: cluster, log: log}
	return c, c.read()
}

// current returns the configurations of the files as they are, or as they last
// were right.
func (c *credentials) current() *material {
	c.mu.Lock()
	defer c.mu.Unlock()
	problem := ""
	if err := c.read(); err != nil {
		problem = err.Error()
	}
	if problem != "" && problem != c.problem {
		c.log.Warn("the new certificates cannot be used, those read before still are", "error", problem)
	}
	c.problem = problem
	return c.now
}

// ReadCertificates reads the files of the certificates now, and not at the next handshake only. If
// they cannot be used, the last fitting ones still are.
func (p *Port) ReadCertificates() error {
	if p.credentials == nil {
		return nil
	}
	p.credentials.mu.Lock()
	defer p.credentials.mu.Unlock()
	return p.credentials.read()
}

// read makes now of the files if they have changed.
func (c *credentials) read() error {
	var text [3][]byte
	for i, name := range []string{c.files.CA, c.files.Cert, c.files.Key} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text[i] = b
	}
	if c.now != nil && slices.EqualFunc(text[:], c.text[:], bytes.Equal) {
		return nil
	}
	m, err := c.files.material(text)
	if err != nil {
		return err
	}
	if names := clusterMarks(m.own); len(names) > 0 && c.cluster() != "" && !slices.Contains(names, ClusterMark(c.cluster())) {
		return fmt.Errorf("%s: it is for %s, and this node is of cluster %q: trefoil cert node --cluster makes one for it", c.files.Cert, names, c.cluster())
	}
	if c.now != nil {
		c.log.Info("new certificates are in use", "cert", c.files.Cert)
	}
	c.now, c.text = m, text
	return nil
}

func (t TLS) material(text [3][]byte) (*material, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text[0]) {
		return nil, fmt.Errorf("%s: no certificate in it", t.CA)
	}
	// 1. This node's certificate must be good for both ends of a connection, because a node dials
	// and accepts.
	pair, err := tls.X509KeyPair(text[1], text[2])
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.Cert, t.Key, err)
	}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, usage := range both {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w (by the CA of %s; trefoil cert node makes a new one)", t.Cert, err, t.CA)
		}
	}
	if !marked(pair.Leaf) {
		return nil, fmt.Errorf("%s: no node's certificate, %q is not among its names: trefoil cert node makes one", t.Cert, NodeMark)
	}
	// 2. A client without a certificate is accepted, because HTTP requests none; checkNode
	// rejects it as a node.
	return &material{
		accept: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
			Certificates: []tls.Certificate{pair},
			ClientAuth:   tls.VerifyClientCertIfGiven,
			ClientCAs:    pool,
			// Resumed sessions are disabled, because they would skip the check of the
			// certificate.
			SessionTicketsDisabled: true,
		},
		dial: &tls.Config{
			MinVersion:   tls.VersionTLS13,
			Certificates: []tls.Certificate{pair},
			RootCAs:      pool,
		},
		own: pair.Leaf,
	}, nil
}

// server returns a lasting configuration: each handshake uses the files of its time.
func (c *credentials) server() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current().accept, nil },
	}
}

// client returns the configuration for dialing a host.
func (c *credentials) client(host string) *tls.Config {
	m := c.current()
	config := m.dial.Clone()
	config.ServerName = host
	config.VerifyConnection = func(state tls.ConnectionState) error { return m.checkNode(state, c.cluster()) }
	return config
}

// errNoNode rejects a certificate which is no node's, or a missing one.
var errNoNode = errors.New("it has shown no node's certificate")

// checkNode returns an error unless the other side's certificate was verified and is a node's. If
// it or this node's own names clusters, it must name this one.
func (m *material) checkNode(state tls.ConnectionState, cluster string) error {
	if len(state.VerifiedChains) == 0 || !marked(state.PeerCertificates[0]) {
		return errNoNode
	}
	names := clusterMarks(state.PeerCertificates[0])
	if len(names) == 0 && len(clusterMarks(m.own)) == 0 || slices.Contains(names, ClusterMark(cluster)) {
		return nil
	}
	return fmt.Errorf("its certificate is not for cluster %q, it names %s: trefoil cert node --cluster makes one that is", cluster, names)
}

// clusterMarks returns the URIs for the clusters of a certificate.
func clusterMarks(cert *x509.Certificate) (marks []string) {
	for _, u := range cert.URIs {
		if text := u.String(); strings.HasPrefix(text, clusterPrefix) {
			marks = append(marks, text)
		}
	}
	return marks
}

func marked(cert *x509.Certificate) bool {
	return slices.ContainsFunc(cert.URIs, func(u *url.URL) bool { return u.String() == NodeMark })
}
