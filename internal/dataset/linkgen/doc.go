// Package linkgen makes web graphs for tests and benchmarks: pages with realistic URLs on hosts of
// very different sizes, and links with the structure of crawls. Everything follows from the
// options, including the seed, on every machine. No floating point is used, and random numbers are
// math/rand/v2's PCG or splitmix64. A page's links are computed when they are requested. Only a
// table of hosts is kept, 4 bytes a host and a sixteenth of a byte a page.
//
// # Numbers
//
// Pages are numbered from 0, host by host. Hosts are numbered in the order of their reversed names
// (com.example.www), and the pages of a host in the order of their URLs. Page numbers are therefore
// in the order of stored links.
//
// # Model
//
// Host sizes follow Zipf's law with an offset: a host has one page, and a share of the others in
// proportion to 1/(rank+10). Ranks are given to hosts at random.
//
// A page's number of links is 0 for one page in 16. Otherwise it is from a table with a Pareto tail
// (its density falls with the square of the degree), from a quarter of the mean to 15 times the
// mean. The largest of its 1,024 entries is doubled up to four times, each time with half the
// probability.
//
// Links are made by the copying model (R. Kumar et al., Stochastic models for the Web graph, FOCS
// 2000). A directory is up to 16, 32 or 64 pages of a host. It has a prototype, an endless list of
// links. A page's k-th link is the prototype's k-th link with probability 7/8, and else a new one.
// Both are drawn alike, in the page's host or elsewhere. The probability is chosen so that
// Options.LocalPercent of the whole graph's links are in their host.
//
//	in the host   1/16  its first page
//	              4/16  the first pages of 8 of its directories
//	              6/16  a page near, at a log-uniform distance up to 16;
//	                    of a prototype: a page of the directory
//	              5/16  a page by popularity in the host
//	elsewhere     9/16  a page by popularity in the graph; 3 of 4 are the first
//	                    page of their host
//	              4/16  any page
//	              3/16  a page of one of 16 hosts around, half of them its first;
//	                    these are hosts of the same domains
//
// Popularity is log-uniform in the rank: 1/rank except for the first 16. In-degrees therefore have
// a tail with an exponent of about 2. If a host has one page, its links are only elsewhere. Lists
// are sets in ascending order without the page itself. If a link is drawn twice, the list has it
// once. The numbers of draws are scaled by a sample of pages, because the mean must hold
// nevertheless.
//
// # URLs
//
// A host has its own registered domain, but 9 in 16 share one with 2 or 5 others. Directories and
// pages have English words, dates, numbers and queries in their names:
//
//	https://www.bodakemi.org/reviews/garden-paper/summer-history-note.html
//	http://forum.lisotuma.co.uk/docs/2016/04/article-0031870.html
//	https://pasenito.com/events/light/view.php?id=204117&page=3
//
// Names of hosts are invented; if one exists, it is by chance.
//
// # Figures
//
// The figures are for the seed 1; TestShape asserts those of the first column:
//
//	                                  1 million    10 million pages
//	                                    50,000       500,000 hosts
//	links a page                         17.95         17.92
//	share in the host                     0.756         0.757
//	links also of the page before         0.44
//	pages without links                   6.2%
//	out-degree of 100 or more             1.6%
//	greatest out-degree                   2,181         2,508
//	greatest in-degree                   32,000       302,000
//	pages of the largest host            11,089        87,393
//	bytes a URL                            73            75
//	memory of the graph                 0.3 MiB         2 MiB
//
// From an in-degree of 64 on there are 5 to 8 times fewer pages each time the degree is four times
// as large: the density falls with its power 2.2 to 2.5. If hosts have few pages, there are fewer
// links in the host, and fewer than requested, because a list has no page twice.
//
// A core makes some 12 million links a second, and writes 4 million as lines.
package linkgen
