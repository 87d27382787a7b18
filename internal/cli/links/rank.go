// trefoil links commands for rankings.

package links

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

type linksRankCmd struct {
	linksReader
	Algorithm string `default:"salsa" enum:"salsa,hits,pagerank" placeholder:"A" help:"salsa, hits, or pagerank: by the last job's scores; ${default} by default."`
	In        int    `short:"a" default:"10" placeholder:"N" help:"Pages that link to each page, drawn into its neighbourhood; ${default} by default."`
	Out       int    `short:"b" default:"10" placeholder:"N" help:"Pages that each page links to, likewise; ${default} by default."`
	Class     string `default:"all" placeholder:"C" help:"Links that count: all, inter-host or inter-domain; ${default} by default."`
	Random    bool   `help:"Draw at random, by --seed, and not consistently."`
	Seed      uint64 `default:"1" placeholder:"S" help:"Of --random; ${default} by default."`
	Weighted  bool   `help:"Count each link as much as its weight, for salsa and hits."`
	Top       int    `placeholder:"N" help:"The best N only."`
	All       bool   `help:"Rank the pages around the given ones too."`
	Hubs      bool   `help:"Print hubs, and not authorities."`
	UIDs      bool   `name:"uids" help:"Print UIDs and not URLs."`
	JSON      bool   `help:"Print JSON: authorities, hubs, and the size of the graph."`
	pageArgs
}

// rankingJSON is a ranking in JSON.
type rankingJSON struct {
	Authorities []scoredJSON `json:"authorities"`
	Hubs        []scoredJSON `json:"hubs,omitempty"`
	Vertices    int          `json:"vertices"`
	Edges       int          `json:"edges"`
	Rounds      int          `json:"rounds,omitempty"`
	Converged   bool         `json:"converged"`
}

type scoredJSON struct {
	Page  string  `json:"page"`
	Score float64 `json:"score"`
}

func (c *linksRankCmd) Run(e *console.Env) error {
	// 1. Check the flags.
	class, err := sample.ParseClass(c.Class)
	if err != nil {
		return console.Usage(err)
	}
	if c.In < 0 || c.Out < 0 || c.Top < 0 {
		return console.Usagef("-a, -b and --top are not negative")
	}
	if c.Hubs && c.Algorithm == string(links.PageRank) {
		return console.Usagef("--hubs is for salsa and hits; pagerank has one score a page")
	}
	if c.Weighted && c.Algorithm == string(links.PageRank) {
		return console.Usagef("--weighted is for salsa and hits")
	}
	// 2. Resolve all pages, because a ranking is one call.
	request := links.RankRequest{Algorithm: links.Algorithm(c.Algorithm), In: c.In, Out: c.Out, Mode: modeOf(c.Random),
		Class: class, Seed: c.Seed, Weighted: c.Weighted, Top: c.Top, All: c.All}
	return c.withGraph(e, func(g links.Graph) error {
		names := resolver{e: e, graph: g}
		err := c.each(e, c.ServerNames(e), func(batch []string) error {
			pages, err := names.resolve(batch)
			request.Pages = append(request.Pages, pages...)
			return err
		})
		if err != nil {
			return err
		}
		r, err := g.Rank(e.Ctx, request)
		if err != nil {
			return err
		}
		names.reportUnknown()
		return c.print(e, g, r)
	})
}

func (c *linksRankCmd) print(e *console.Env, g links.Graph, r links.Ranking) error {
	authorities, err := c.scored(e, g, r.Authorities)
	if err != nil {
		return err
	}
	hubs, err := c.scored(e, g, r.Hubs)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.PrintJSON(rankingJSON{authorities, hubs, r.Vertices, r.Edges, r.Rounds, r.Converged})
	}
	out := console.NewPrinter(e.Stdout, false)
	list := authorities
	if c.Hubs {
		list = hubs
	}
	for _, s := range list {
		if err := out.Fields(strconv.FormatFloat(s.Score, 'g', -1, 64), s.Page); err != nil {
			return err
		}
	}
	return out.End(nil)
}

// scored returns scores with the names of their pages.
func (c *linksRankCmd) scored(e *console.Env, g links.Graph, scores []rank.Scored) (list []scoredJSON, err error) {
	pages := make([]uid.UID, len(scores))
	for i, s := range scores {
		pages[i] = s.UID
	}
	names := decimals(pages)
	if !c.UIDs {
		if names, err = urlsOf(e, g, pages); err != nil {
			return nil, err
		}
	}
	list = make([]scoredJSON, len(scores))
	for i, s := range scores {
		list[i] = scoredJSON{names[i], s.Score}
	}
	return list, nil
}

// linksPageRankCmd starts, shows and stops the job.
type linksPageRankCmd struct {
	Start  pageRankStartCmd  `cmd:"" help:"Start a job; one job runs at a time."`
	Status pageRankStatusCmd `cmd:"" help:"Show how the last job stands."`
	Stop   pageRankStopCmd   `cmd:"" help:"End the job that runs."`
}

type pageRankStartCmd struct {
	target.ServerFlags
	Damping   float64 `placeholder:"D" help:"Share of the score that links hand on; 0.85 by default."`
	Tolerance float64 `placeholder:"E" help:"Ends when a round changes all scores together by no more; 1e-8 by default."`
	MaxRounds int     `placeholder:"N" help:"Ends after so many rounds; 200 by default."`
	Weighted  bool    `help:"Divide a page's score by the weights of its links' labels."`
	Store     bool    `help:"Note the scores on the pages in the store, as annotations."`
	watchFlags
}

// watchFlags holds the flags of commands that may show the job.
type watchFlags struct {
	Watch bool          `short:"w" help:"Show the state of the job until it ends; the exit code is 1 if it fails or is stopped."`
	Every time.Duration `default:"1s" hidden:""`
	JSON  bool          `help:"Print JSON, with --watch a line each time."`
}

func (c *pageRankStartCmd) Run(e *console.Env) error {
	if err := (rank.Options{Damping: c.Damping, Tolerance: c.Tolerance, MaxRounds: c.MaxRounds}).Validate(); err != nil {
		return console.Usage(err)
	}
	if math.IsInf(c.Tolerance, 0) {
		return console.Usagef("--tolerance %v is no number", c.Tolerance)
	}
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		err := g.StartPageRank(e.Ctx, links.PageRankOptions{Damping: c.Damping, Tolerance: c.Tolerance, MaxRounds: c.MaxRounds, Weighted: c.Weighted, Store: c.Store})
		if err != nil {
			return err
		}
		if c.Watch {
			return c.watch(e, g)
		}
		e.Sayf("PageRank has begun; trefoil links pagerank status --watch tells how far it is")
		return nil
	})
}

type pageRankStatusCmd struct {
	target.ServerFlags
	watchFlags
}

func (c *pageRankStatusCmd) Run(e *console.Env) error {
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		if c.Watch {
			return c.watch(e, g)
		}
		job, err := g.PageRank(e.Ctx)
		if err != nil {
			return err
		}
		return c.show(e, console.NewFrames(e.Stdout), job)
	})
}

type pageRankStopCmd struct{ target.ServerFlags }

func (c *pageRankStopCmd) Run(e *console.Env) error {
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error { return g.StopPageRank(e.Ctx) })
}

// watch shows the job until it ends.
func (w *watchFlags) watch(e *console.Env, g links.Graph) error {
	ticker := time.NewTicker(max(w.Every, time.Millisecond))
	defer ticker.Stop()
	for out := console.NewFrames(e.Stdout); ; {
		job, err := g.PageRank(e.Ctx)
		if err == nil {
			err = w.show(e, out, job)
		}
		if err != nil {
			return err
		}
		switch job.State {
		case "done":
			return nil
		case "failed", "stopped":
			return console.WithHint(fmt.Errorf("PageRank: the job has %s", withReason(job)), "trefoil links pagerank start begins another one.")
		}
		select {
		case <-e.Ctx.Done():
			return e.Ctx.Err()
		case <-ticker.C:
		}
	}
}

func withReason(job links.PageRankJob) string {
	if job.State == "stopped" {
		return "been stopped"
	}
	return "failed: " + job.Error
}

func (w *watchFlags) show(e *console.Env, out *console.Frames, job links.PageRankJob) error {
	if w.JSON {
		return e.PrintJSON(job)
	}
	text := fmt.Sprintf("%s: round %d, change %.3g, %s, %s, %s", job.State, job.Round, job.Change,
		console.Plural(job.Pages, "page"), console.Plural(job.Links, "link"), console.Seconds(time.Duration(job.Seconds*float64(time.Second))))
	if job.Stored > 0 {
		text += ", " + console.Plural(job.Stored, "score") + " stored"
	}
	if job.Error != "" {
		text += ", " + console.OneLine(job.Error)
	}
	return out.Show(strings.TrimSpace(text)+"\n", text)
}
