// The Helm chart: what it renders, and a cluster with its settings.

package processes

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// chart is the folder of the chart.
var chart = filepath.Join("..", "..", "packaging", "helm", "trefoil")

// chartImage is the values of an image, which has no default.
const chartImage = "image.repository=registry.example.org/trefoil,image.tag=1.0"

// helm runs helm, and returns what it prints. Without helm the test is skipped.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("helm")
	if err != nil {
		t.Skip("LEFT OUT, because there is no helm: go install helm.sh/helm/v3/cmd/helm@v3.16.4")
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

// podSettings returns the files of settings in a rendered chart, in the order of the pods.
func podSettings(rendered string) (files []string) {
	for _, m := range regexp.MustCompile(`(?m)^  x-\d+\.toml: \|\n((?:    .*\n)+)`).FindAllStringSubmatch(rendered, -1) {
		files = append(files, strings.ReplaceAll(m[1], "    ", ""))
	}
	return files
}

// TestHelmChart: the chart has no fault that helm finds, rejects wrong values, and its pods have settings that the
// server knows.
func TestHelmChart(t *testing.T) {
	t.Parallel()
	if out, err := helm(t, "lint", "--strict", chart, "--set", chartImage); err != nil {
		t.Errorf("lint: %v\n%s", err, out)
	}
	for _, bad := range []string{"replicas=0", "replica=3", "settings.listen=:1", "settings.a_b=1", "auth.secret=", "tls.secret=", "storage.size=big", "image.tag=latest", "image.tag=a:b", "image.tag=null"} {
		if out, err := helm(t, "template", "x", chart, "--set", chartImage+","+bad); err == nil {
			t.Errorf("%s is accepted:\n%.300s", bad, out)
		}
	}
	for _, missing := range []string{"image.repository=", "image.tag="} {
		if out, err := helm(t, "template", "x", chart, "--set", chartImage+","+missing); err == nil || !strings.Contains(out, "image.repository and image.tag name the image") {
			t.Errorf("%s: %v\n%.300s", missing, err, out)
		}
	}
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	if !strings.Contains(string(values), "uris: ["+port.NodeMark+"]") {
		t.Errorf("values.yaml has no certificate with the URI %s", port.NodeMark)
	}
	out, err := helm(t, "template", "x", chart, "--namespace", "ns", "--set", chartImage+",auth.operatorTokenKey=operator,auth.gossipKey=gossip,settings.query-timeout=9s,settings.copies=2,settings.cors={https://a.example,https://b.example},settings.no-links=true")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"kind: StatefulSet", "clusterIP: None", "publishNotReadyAddresses: true", "kind: PodDisruptionBudget", "maxUnavailable: 1", "runAsNonRoot: true",
		"readOnlyRootFilesystem: true", "secretName: trefoil-tls", "path: /healthz, port: trefoil, scheme: HTTPS", "path: /readyz, port: trefoil, scheme: HTTPS", "startupProbe:",
		"{key: operator, path: operator-token}", "{key: gossip, path: gossip.key}",
		"type: OnDelete", `image: "registry.example.org/trefoil:1.0"`, `failure-timeout = "60s"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the chart renders no %q", want)
		}
	}
	files := podSettings(out)
	if len(files) != 3 {
		t.Fatalf("%d files of settings", len(files))
	}
	for i, file := range files {
		path := filepath.Join(t.TempDir(), "trefoil.toml")
		require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer("/etc/trefoil", t.TempDir()).Replace(file)), 0o600))
		// The files of tokens are missing, but all keys and values are checked first.
		got := trefoil(t, "config", "--config", path)
		if !strings.Contains(got.stderr, "no such file") {
			t.Errorf("pod %d: %s\n%s", i, got.stderr, file)
		}
		if joins := strings.Contains(file, "join = "); joins != (i > 0) {
			t.Errorf("pod %d joins: %v", i, joins)
		}
	}
	if out, _ := helm(t, "template", "x", chart, "--set", chartImage+",bootstrap=false"); strings.Count(out, "join = ") != 3 {
		t.Error("without bootstrap not all pods join")
	}
}

// TestHelmCluster: pods that start at once with the settings of the chart become a cluster. A first one with an empty
// volume joins it again if bootstrap is false.
func TestHelmCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, patiently)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("chart"), 0o600))
	c.token = "chart"
	for _, m := range c.machines {
		m.address = freeAddress(t)
	}
	// configure writes the settings of the pods, for loopback.
	configure := func(values string) {
		t.Helper()
		out, err := helm(t, "template", "x", chart, "--namespace", "ns", "--set", chartImage+",insecure=true,"+values)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for i, file := range podSettings(out) {
			for j, m := range c.machines {
				file = strings.ReplaceAll(file, fmt.Sprintf("x-%d.x-nodes.ns.svc.cluster.local:7333", j), m.address)
			}
			path := filepath.Join(t.TempDir(), "trefoil.toml")
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(file, "/etc/trefoil/auth/token", token)), 0o600))
			c.machines[i].args = []string{patiently, "--config", path}
		}
	}
	configure("bootstrap=true")
	for _, m := range c.machines {
		m.start()
	}
	for _, m := range c.machines {
		m.ready()
	}
	c.whole(3)
	configure("bootstrap=false")
	first := c.machines[0]
	first.kill()
	require.NoError(t, os.RemoveAll(first.dir))
	first.start()
	first.ready()
	if s := c.whole(3); len(s.Members) != 3 {
		t.Errorf("the cluster has %d members", len(s.Members))
	}
}

// TestHelmCertificate: the certificate that docs/operations/node.md makes for the chart is good for the addresses that the
// chart gives its pods, for the service of clients and for a forwarded port.
func TestHelmCertificate(t *testing.T) {
	t.Parallel()
	// 1. The commands of the docs, in an own folder.
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "node.md"))
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^    trefoil (cert node x .*)$`).FindStringSubmatch(string(doc))
	if line == nil {
		t.Fatal("docs/operations/node.md has no trefoil cert node x")
	}
	dir := filepath.Join(t.TempDir(), "certs")
	args := strings.Fields(strings.ReplaceAll(line[1], "--out certs", "--out "+dir))
	trefoil(t, "cert", "ca", "--out", dir).must(t, 0)
	trefoil(t, args...).must(t, 0)
	// 2. The names of the chart, for a release x in the namespace ns.
	template, err := os.ReadFile(filepath.Join(chart, "templates", "_helpers.tpl"))
	require.NoError(t, err)
	address := regexp.MustCompile(`(?m)^(\{\{ \$name \}\}-\{\{ index \. 1 \}\}\S*\{\{.*):7333$`).FindStringSubmatch(string(template))
	if address == nil {
		t.Fatal("the chart has no address of a pod")
	}
	names := []string{"x.ns.svc", "localhost"}
	for i := range 3 {
		names = append(names, strings.NewReplacer("{{ $name }}", "x", "{{ index . 1 }}", fmt.Sprint(i),
			"{{ $.Release.Namespace }}", "ns", "{{ $.Values.clusterDomain }}", "cluster.local").Replace(address[1]))
	}
	// 3. The certificate.
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "x.crt"), filepath.Join(dir, "x.key"))
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	for _, name := range names {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}
