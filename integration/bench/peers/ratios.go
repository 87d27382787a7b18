// The file of ratios: what trefoil's last commit reached beside the best peer.

package peers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// tolerance is how much a ratio may exceed the committed one.
const tolerance = 1.2

const ratiosHeading = "# Median time of trefoil as a multiple of the best peer's, by suite, size and query.\n" +
	"# Written by make bench-peers BENCHFLAGS=-update; the bench fails if one grows by more than a fifth.\n"

// readRatios reads lines of a key, a space and a number. Lines that begin with # are comments.
func readRatios(r io.Reader) (map[string]float64, error) {
	ratios := map[string]float64{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, number, ok := strings.Cut(line, " ")
		ratio, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || ratio <= 0 {
			return nil, fmt.Errorf("line %d: %q is not a query and its ratio", n, line)
		}
		ratios[key] = ratio
	}
	return ratios, lines.Err()
}

// readRatiosFile returns no ratios if the file is missing.
func readRatiosFile(path string) (map[string]float64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]float64{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ratios, err := readRatios(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ratios, nil
}

func writeRatios(w io.Writer, ratios map[string]float64) error {
	text := ratiosHeading
	for _, key := range sortedKeys(ratios) {
		text += fmt.Sprintf("%s %.3g\n", key, ratios[key])
	}
	_, err := io.WriteString(w, text)
	return err
}

// slower returns the verdicts whose ratio exceeds the committed one by more than the tolerance.
func slower(verdicts []verdict, committed map[string]float64) (found []verdict) {
	for _, v := range verdicts {
		if was, ok := committed[v.key]; ok && v.ratio > was*tolerance {
			found = append(found, v)
		}
	}
	return found
}
