// The suites: queries in files, with parameters that are taken from the data.

package peers

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// form is the form of a query's answer.
type form int

const (
	solutions form = iota // of SELECT, and the boolean of ASK
	graph
)

func (f form) mediaType() string {
	if f == graph {
		return "application/n-triples"
	}
	return "application/sparql-results+json"
}

// comparison says what must be equal in all answers.
type comparison int

const (
	allRows comparison = iota
	rowCounts
	nothing
)

// query is one query of a suite.
type query struct {
	name, text string
	form       form
	compared   comparison
}

// queryForm finds the keyword of a query, which must begin a line.
var queryForm = regexp.MustCompile(`(?im)^[ \t]*(select|ask|construct|describe)\b`)

// anyRows begins the text of a query that has several right answers of one length.
const anyRows = "# any rows"

func newQuery(name, text string) query {
	q := query{name: name, text: text}
	if strings.HasPrefix(text, anyRows) {
		q.compared = rowCounts
	}
	if m := queryForm.FindStringSubmatch(text); m != nil {
		switch strings.ToLower(m[1]) {
		case "construct":
			q.form = graph
		case "describe":
			q.form, q.compared = graph, nothing // the standard lets systems choose
		}
	}
	return q
}

// suite is a list of queries on one data set.
type suite struct {
	name    string
	queries []query
}

//go:embed queries
var embedded embed.FS

// template is a query whose parameters, such as %Product%, are not yet replaced.
type template struct{ name, text string }

// embeddedSuite returns the templates in a folder of queries, sorted by name.
func embeddedSuite(name string) (all []template, err error) {
	entries, err := fs.ReadDir(embedded, path.Join("queries", name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(embedded, path.Join("queries", name, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, template{strings.TrimSuffix(e.Name(), ".rq"), string(text)})
	}
	return all, nil
}

// folderSuite returns the templates query1.txt, query2.txt ... in a folder, as BSBM has them.
func folderSuite(dir string) (all []template, err error) {
	for n := 1; ; n++ {
		text, err := os.ReadFile(path.Join(dir, fmt.Sprintf("query%d.txt", n)))
		if os.IsNotExist(err) && n > 1 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, template{fmt.Sprintf("%02d", n), string(text)})
	}
}

// fill returns the query of a template.
func (t template) fill(p parameters) (query, error) {
	text, err := p.fill(t.text)
	if err != nil {
		return query{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return newQuery(t.name, text), nil
}

// number returns the number that a template's name begins with.
func (t template) number() int {
	digits, _, _ := strings.Cut(t.name, "-")
	n, _ := strconv.Atoi(digits) // 0 is in no mix
	return n
}

// fillSuite returns the queries of templates.
func fillSuite(name string, templates []template, p parameters) (s suite, err error) {
	s.name = name
	for _, t := range templates {
		q, err := t.fill(p)
		if err != nil {
			return s, fmt.Errorf("%s/%w", name, err)
		}
		s.queries = append(s.queries, q)
	}
	return s, nil
}
