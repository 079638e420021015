package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"seckill/lock"
	"seckill/service"
)

// sourceFile is a file, or the part of it that a stage uses.
type sourceFile struct{ name, text string }

// sourcesOf are the files of a stage's lock with their scripts, and the functions of the order flow that it runs.
func sourcesOf(s service.Stage) ([]sourceFile, error) {
	files, err := lockSources(s.Lock)
	if err != nil {
		return nil, err
	}
	for _, p := range append(slices.Clone(borrowed[s.Lock]),
		part{service.Sources, "service/admission_path.go", admissionFunctions(s)},
		part{service.Sources, "service/flow.go", spanFunctions(s)}, part{service.Sources, "service/stock.go", stockFunctions(s)}) {
		text, err := functions(p.from, path.Base(p.name), p.functions)
		if err != nil {
			return nil, err
		}
		if text != "" {
			files = append(files, sourceFile{p.name, text})
		}
	}
	return files, nil
}

// part is some functions of a file.
type part struct {
	from      fs.FS
	name      string
	functions []string
}

// borrowed are the functions that a lock's own file takes from another lock's.
var borrowed = map[string][]part{
	"hash":   {{lock.Sources, "lock/step02_setnx.go", []string{"del"}}},
	"incr":   {{lock.Sources, "lock/step02_setnx.go", []string{"del"}}},
	"expire": {{lock.Sources, "lock/step02_setnx.go", []string{"del"}}},
	"token": {
		{lock.Sources, "lock/step03_expire.go", []string{"setWithTTL"}}, {lock.Sources, "lock/setnx_expire.go", []string{"getCompareDel"}},
	},
	"lua": {{lock.Sources, "lock/step03_expire.go", []string{"setWithTTL"}}},
}

// admissionFunctions are the functions of service/admission_path.go that let an order in before the database is asked.
func admissionFunctions(s service.Stage) []string {
	return map[string][]string{
		service.PathGate: {"admit", "throughGate", "giveBack"}, service.PathStream: {"admit", "queued"},
	}[s.Path]
}

// spanFunctions are the functions of service/flow.go that hold the lock around the order.
func spanFunctions(s service.Stage) []string {
	switch {
	case s.Path != service.PathSync:
		return nil
	case s.LockSpan == service.SpanEarly:
		return []string{"early"}
	case s.LockSpan == service.SpanLate:
		return []string{"late"}
	}
	names := []string{"around", "underLock", "commit"}
	if s.StockUpdate == service.UpdateCAS {
		names = append(names, "optimistically")
	}
	if s.Lock == "fenced" {
		names = append(names, "claimRow")
	}
	return names
}

// stockFunctions are the functions of service/stock.go that take the unit.
func stockFunctions(s service.Stage) []string {
	return map[string][]string{
		service.UpdateNaive:       {"setStock"},
		service.UpdateConditional: {"takeConditionally"},
		service.UpdateCAS:         {"takeIfUnchanged"},
		service.UpdateForUpdate:   {"readAndWrite", "lockedRead", "setStock"},
		service.UpdateSkipLocked:  {"takeUnit"},
	}[s.StockUpdate]
}

var (
	stepPrefix = regexp.MustCompile(`^step\d+_`)
	scriptName = regexp.MustCompile(`\w+\.lua`)
)

// sharedScripts are those of the locks whose scripts are run by what they share.
var sharedScripts = map[string][]string{
	"watchdog": {"acquire.lua", "renew.lua", "release.lua"},
	"redlock":  {"acquire.lua", "renew.lua", "release.lua"},
	"fenced":   {"acquire_fenced.lua", "renew.lua", "release.lua"},
}

// lockSources finds a lock's own file: the one of its name, or else the one that names it, and the scripts it embeds.
func lockSources(kind string) ([]sourceFile, error) {
	names, err := fs.Glob(lock.Sources, "*.go")
	if err != nil {
		return nil, err
	}
	plain := strings.NewReplacer("-", "", "_", "")
	i := slices.IndexFunc(names, func(name string) bool {
		base := stepPrefix.ReplaceAllString(strings.TrimSuffix(name, ".go"), "")
		return plain.Replace(base) == plain.Replace(kind)
	})
	if i < 0 {
		i = slices.IndexFunc(names, func(name string) bool {
			text, err := lock.Sources.ReadFile(name)
			return err == nil && name != "registry.go" && bytes.Contains(text, []byte(`"`+kind+`"`))
		})
	}
	if i < 0 {
		return nil, fmt.Errorf("the lock %s has no source file", kind)
	}
	text, err := lock.Sources.ReadFile(names[i])
	if err != nil {
		return nil, err
	}
	files := []sourceFile{{"lock/" + names[i], string(text)}}
	scripts := append(scriptName.FindAllString(string(text), -1), sharedScripts[kind]...)
	slices.Sort(scripts)
	for _, name := range slices.Compact(scripts) {
		if script, err := lock.Sources.ReadFile(name); err == nil {
			files = append(files, sourceFile{"lock/" + name, string(script)})
		}
	}
	return files, nil
}

// functions cuts the wanted functions with their comments out of a file.
func functions(from fs.FS, name string, wanted []string) (string, error) {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !slices.Contains(wanted, f.Name.Name) {
			continue
		}
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		parts = append(parts, string(text[set.Position(begin).Offset:set.Position(f.End()).Offset]))
	}
	return strings.Join(parts, "\n\n"), nil
}
