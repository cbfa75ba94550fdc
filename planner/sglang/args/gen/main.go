// Command gen turns flags.json, the maintained table of SGLang's launch flags,
// and rules.json, its cross-flag rules, into the Go data that package args
// embeds. With -merge it first adds a
// release to flags.json from a dump of that release's own argument parser:
//
//	pip install sglang==0.5.24        # or: pip download --no-deps, then unzip
//	python3 gen/dump_flags.py > /tmp/0.5.24.json
//	go run ./gen -merge /tmp/0.5.24.json
//
// Run it in planner/sglang/args. Nothing else needs to change for a release
// that only adds, drops or re-defaults flags.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/sglplan/sglplan/planner/sglang/args/gen/table"
)

func main() {
	log.SetFlags(0)
	var (
		source = flag.String("source", "gen/flags.json", "the maintained table")
		out    = flag.String("out", "flags_data.go", "generated Go data")
		known  = flag.String("known", "../release/known.go", "generated bounds of the table")
		rules  = flag.String("rules", "gen/rules.json", "the maintained rules")
		judge  = flag.String("rules-out", "rules_data.go", "generated rules")
		merge  = flag.String("merge", "", "dump of one release to merge into the table first")
		check  = flag.String("check", "", "dump to compare with the table, changing nothing")
	)
	flag.Parse()
	if err := run(*source, *out, *known, *merge, *check); err != nil {
		log.Fatal("gen: ", err)
	}
	if err := runRules(*rules, *judge); err != nil {
		log.Fatal("gen: ", err)
	}
}

func runRules(source, out string) error {
	rules, err := table.ReadRules(source)
	if err != nil {
		return err
	}
	code, err := table.GenerateRules(rules)
	if err != nil {
		return err
	}
	return os.WriteFile(out, code, 0o644)
}

func run(source, out, known, merge, check string) error {
	t, err := table.Read(source)
	if err != nil {
		return err
	}
	if check != "" {
		d, err := table.ReadDump(check)
		if err != nil {
			return err
		}
		for _, line := range t.Diff(d) {
			fmt.Println(line)
		}
		return nil
	}
	if merge != "" {
		d, err := table.ReadDump(merge)
		if err != nil {
			return err
		}
		if err := t.Merge(d); err != nil {
			return err
		}
		if err := t.Write(source); err != nil {
			return err
		}
	}
	code, err := t.Generate()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, code, 0o644); err != nil {
		return err
	}
	bounds, err := t.GenerateBounds()
	if err != nil {
		return err
	}
	return os.WriteFile(known, bounds, 0o644)
}
