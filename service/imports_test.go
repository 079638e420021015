package service_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows says which packages of ours each package may import; a package stands for those below its folder too.
var arrows = map[string][]string{
	"lock":       {},
	"migrations": {},
	"service":    {"lock"},
	"repository": {"service", "migrations"},
	"router":     {"service", "lock"}, // lock's observer, which metrics and service speak
	"loadtest":   {},
}

// stricter are folders with rules of their own.
var stricter = map[string][]string{
	"repository/backend": {},
	"lock/locktest":      {"lock"},
	"lock/bench":         {"lock"},
}

// onlyStandard are packages without third-party imports: to learn what the program does, read service.
var onlyStandard = []string{"service"}

// Tests may import what they like; package main may too, and is not looked at.
func TestImportsFollowTheArrows(t *testing.T) {
	seen := map[string]bool{}
	root := os.DirFS("..")
	require.NoError(t, fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		dir := path.Dir(file)
		if d.IsDir() && file != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || dir == "." || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		top, _, _ := strings.Cut(dir, "/")
		allowed, known := stricter[dir]
		if !known {
			allowed, known = arrows[top]
			allowed = append([]string{top}, allowed...)
		}
		require.Truef(t, known, "%s: no arrow is drawn for %s", file, top)
		seen[top] = true
		for _, imported := range importsOf(t, root, file) {
			first, rest, _ := strings.Cut(imported, "/")
			if first == "seckill" {
				ours, _, _ := strings.Cut(rest, "/")
				require.Truef(t, slices.Contains(allowed, ours), "%s imports %s", file, imported)
			} else if strings.Contains(first, ".") {
				require.Falsef(t, slices.Contains(onlyStandard, top), "%s imports %s", file, imported)
			}
		}
		return nil
	}))
	require.Subset(t, seen, map[string]bool{"service": true, "router": true, "lock": true, "repository": true})
}

func importsOf(t *testing.T, root fs.FS, file string) []string {
	source, err := fs.ReadFile(root, file)
	require.NoError(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	require.NoError(t, err)
	var imports []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		imports = append(imports, name)
	}
	return imports
}
