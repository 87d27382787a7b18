// The command: reads all Go files below the working directory and prints the counts.

// Command language counts how the code is written: words of comments, comments inside
// functions, opening lines, sizes of folders and types. CONTRIBUTING.md has the targets.
// Its test fails if a file breaks a rule that a machine can check.
//
//	go run ./scripts/language            one line for each folder at the top, and the sums
//	go run ./scripts/language -problems  each place that breaks a rule, too
//	go run ./scripts/language -ceilings  ceilings.txt as it would be today
package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
)

func main() {
	problems := flag.Bool("problems", false, "print each place that breaks a rule")
	ceilings := flag.Bool("ceilings", false, "print ceilings.txt as it would be today")
	flag.Parse()
	if err := run(*problems, *ceilings); err != nil {
		fmt.Fprintln(os.Stderr, "language:", err)
		os.Exit(1)
	}
}

func run(problems, ceilings bool) error {
	t, err := readTree(".")
	if err != nil {
		return err
	}
	if ceilings {
		fmt.Print(t.ceilings())
		return nil
	}
	// 1. The table of the folders.
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "folder\tfiles\tlines\twords\tif, because, when, must / 100\tthat, what, which, who, where / 100\tcomments / 100 lines of long bodies\t")
	var sum counts
	for _, name := range t.top() {
		c := t.counts[name]
		sum.add(c)
		c.print(w, name)
	}
	sum.print(w, "all")
	if err := w.Flush(); err != nil {
		return err
	}
	// 2. The sums over packages, types and interfaces.
	fmt.Printf("\npackages: %d, without a comment: %d\n", len(t.packages), len(t.uncommented()))
	name, n := most(t.files)
	fmt.Printf("largest folder: %s, %d product files\n", name, n)
	name, n = most(t.methods)
	fmt.Printf("largest type: %s, %d methods\n", name, n)
	fmt.Printf("interfaces of more than %d methods: %d\n", maxInterface, len(t.interfaces))
	for _, i := range t.interfaces {
		fmt.Println("  " + i)
	}
	found := t.problems()
	fmt.Printf("places that break a rule: %d\n", len(found))
	places := map[string]int{}
	for k, over := range t.over {
		places[k.rule] += len(over)
	}
	fmt.Printf("places within ceilings: %v\n", places)
	if problems {
		for _, p := range found {
			fmt.Println(p)
		}
		for _, k := range t.overKeys() {
			for _, p := range t.over[k] {
				fmt.Println(p)
			}
		}
	}
	return nil
}
