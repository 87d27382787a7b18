// The active graph: the graphs of a pattern.

package pattern

// graphMode selects the graphs of a pattern.
type graphMode uint8

const (
	DefaultGraph graphMode = iota // triples without a graph name
	AnyGraph                      // the merge of all graphs
	SomeGraphs                    // the merge of the graphs of a set
	OneGraph                      // the graph of a name
	EachGraph                     // every named graph, with a variable for its name
)

// Graphs is the active graph of a pattern.
type Graphs struct {
	Mode graphMode
	Set  map[string]bool // key forms: of someGraphs; of eachGraph the existing graphs, nil for all
	Name *string         // of oneGraph: the key form; a [exec.GraphLoop] moves it
	Slot int             // of eachGraph
}

// accept reports whether a row's graph is one of g, before variables are looked at.
func (g *Graphs) accept(graph []byte) bool {
	switch g.Mode {
	case DefaultGraph:
		return len(graph) == 0
	case SomeGraphs:
		return g.Set[string(graph)]
	case OneGraph:
		return string(graph) == *g.Name
	case EachGraph:
		return len(graph) > 0 && (g.Set == nil || g.Set[string(graph)])
	}
	return true
}

// Merged reports whether a triple of several graphs must come once.
func (g *Graphs) Merged() bool { return g.Mode == AnyGraph || g.Mode == SomeGraphs }
