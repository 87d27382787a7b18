// Package cert makes the keys of a cluster: a certificate authority, a certificate for each node,
// and the gossip key.
//
// Keys are ECDSA on P-256. The authority is valid for 10 years, a node's certificate for 2. Both
// begin an hour ago, because clocks differ. Files are PEM: NAME.crt has the certificate, and
// NAME.key its key in PKCS #8, readable by its owner only (0600). A node's certificate is for both
// ends of a connection and must have the node mark among its names. If it is for one cluster only,
// it has the mark of that cluster too.
package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/cluster/port"
)

const (
	authorityYears = 10
	nodeYears      = 2
	skew           = time.Hour // the most that a clock may be behind

	authority = "ca" // the name of the authority's files
)

// ErrExists is the error if a file exists and was not replaced.
var ErrExists = errors.New("exists already and was not replaced")

// MakeCA writes a new authority into a directory, as ca.crt and ca.key. If force is set, it may
// replace an old authority; the old certificates are then invalid. Otherwise the error is ErrExists
// if either file exists.
func MakeCA(dir string, force bool) error {
	template, err := newTemplate("trefoil CA", authorityYears)
	if err != nil {
		return err
	}
	template.IsCA = true
	template.MaxPathLenZero = true // because it signs nodes, and no other authority
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	return writePair(dir, authority, der, key, force)
}

// MakeNode writes NAME.crt and NAME.key for a node at the hosts: names and IP addresses, without
// port. The certificate is valid in the named cluster only, or in all clusters of the authority if
// cluster is "". The authority in the same directory signs it. Unless force is set, the error is
// ErrExists if either file exists.
func MakeNode(dir, name, cluster string, hosts []string, force bool) error {
	// 1. Read the authority.
	if err := checkName(name); err != nil {
		return err
	}
	ca, err := tls.LoadX509KeyPair(path(dir, authority, ".crt"), path(dir, authority, ".key"))
	if err != nil {
		return fmt.Errorf("read the CA: %w", err)
	}
	if !ca.Leaf.IsCA {
		return fmt.Errorf("%s is no CA's certificate", path(dir, authority, ".crt"))
	}
	// 2. Make the certificate. It must not outlive the authority.
	template, err := newTemplate(name, nodeYears)
	if err != nil {
		return err
	}
	if template.NotAfter.After(ca.Leaf.NotAfter) {
		template.NotAfter = ca.Leaf.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if err := addNames(template, cluster, hosts); err != nil {
		return err
	}
	// 3. Make a key, sign, and write both files.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key, force)
}

// GossipKey returns a new key of 32 random bytes, in base64.
func GossipKey() string {
	var key [32]byte
	rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:])
}

// WriteGossipKey writes a new key as the one line of a new file (0600). It fails if the file
// exists.
func WriteGossipKey(path string) error {
	return writeFile(path, 0o600, []byte(GossipKey()+"\n"), false)
}

func newTemplate(name string, years int) (*x509.Certificate, error) {
	// RFC 5280, 4.1.2.2: positive, and 20 bytes at most.
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.AddDate(years, 0, 0),
		BasicConstraintsValid: true,
	}, nil
}

// addNames adds the hosts, the node mark and, unless cluster is "", the cluster mark.
func addNames(template *x509.Certificate, cluster string, hosts []string) error {
	marks := []string{port.NodeMark}
	if cluster != "" {
		marks = append(marks, port.ClusterMark(cluster))
	}
	for _, text := range marks {
		mark, err := url.Parse(text)
		if err != nil {
			return err
		}
		template.URIs = append(template.URIs, mark)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		if err := checkHost(h); err != nil {
			return err
		}
		template.DNSNames = append(template.DNSNames, h)
	}
	if len(hosts) == 0 {
		return errors.New("no host: name the hosts at which the node is reached")
	}
	return nil
}

// checkHost rejects a host with other characters than those of a name. A port or a URL would make a
// certificate that fits no host.
func checkHost(h string) error {
	for _, r := range h {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		default:
			return fmt.Errorf("host %q: %q is in no host's name; give a name or an IP address, without port", h, r)
		}
	}
	if h == "" || strings.HasPrefix(h, ".") || len(h) > 253 {
		return fmt.Errorf("host %q is no host's name", h)
	}
	return nil
}

// checkName rejects a node's name if it is not a file name in the directory itself, or if it is the
// authority's.
func checkName(name string) error {
	switch {
	case name == "" || name == authority || len(name) > 64:
		return fmt.Errorf("name %q: give the node a name of its own, 64 bytes at most", name)
	case strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-"):
		return fmt.Errorf("name %q: it becomes the name of files, so it has no slash and begins with no dot or dash", name)
	}
	return nil
}

func path(dir, name, extension string) string { return filepath.Join(dir, name+extension) }

// writePair writes key and certificate. If it fails between the two, the pair does not fit, and its
// readers report that.
func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey, force bool) error {
	// 1. Encode both, and check that neither exists, before anything is written.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	files := []struct {
		path string
		mode fs.FileMode
		text []byte
	}{
		{path(dir, name, ".key"), 0o600, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})},
		{path(dir, name, ".crt"), 0o644, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})},
	}
	for _, f := range files {
		if _, err := os.Lstat(f.path); !force && err == nil {
			return fmt.Errorf("%s %w", f.path, ErrExists)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// 2. Write both. Readers report a pair if it does not fit.
	for _, f := range files {
		if err := writeFile(f.path, f.mode, f.text, force); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file durably. With force it is replaced as a whole or not at all. Without
// force it must not exist.
func writeFile(path string, mode fs.FileMode, text []byte, force bool) error {
	if force {
		return atomicfile.Write(path, mode, text)
	}
	err := atomicfile.WriteNew(path, mode, text)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w", path, ErrExists)
	}
	return err
}
